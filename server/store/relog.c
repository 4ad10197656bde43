/* An earlier run may have seen an fsync of the log fail. The kernel then keeps the bytes in memory,
 * marks them clean and reports the next fsync as a success, although the disk never had them: a
 * checkpoint that trusts such a log would leave half a transaction in the database at a power cut.
 * So a log that is found at start is written over with its own bytes, which makes the kernel write
 * them again, and synced. A cut in between changes nothing: the bytes are equal. */
#include "inside.h"

#include <stdlib.h>

/* SQLite's own VFS takes at most 128 KiB - 1 at a time. */
enum { PIECE = 64 * 1024 };

static int rewrite_file(sqlite3_file *file, unsigned char *piece)
{
    sqlite3_int64 size = 0;
    int rc = file->pMethods->xFileSize(file, &size);
    for (sqlite3_int64 at = 0; rc == SQLITE_OK && at < size; at += PIECE) {
        int len = size - at < PIECE ? (int)(size - at) : PIECE;
        rc = file->pMethods->xRead(file, piece, len, at);
        if (rc == SQLITE_OK)
            rc = file->pMethods->xWrite(file, piece, len, at);
    }
    if (rc == SQLITE_OK && size > 0)
        rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    return rc;
}

static int rewrite_log(sqlite3_vfs *vfs, const char *log_name)
{
    int rc = SQLITE_NOMEM;
    int flags = 0;
    unsigned char *piece = malloc(PIECE);
    sqlite3_file *file = calloc(1, (size_t)vfs->szOsFile);
    if (piece && file) {
        rc = vfs->xOpen(vfs, log_name, file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, &flags);
        if (rc == SQLITE_OK)
            rc = rewrite_file(file, piece);
        if (file->pMethods)
            file->pMethods->xClose(file);
    }
    free(file);
    free(piece);
    return rc;
}

ty_status ty_relog(struct ty_store *store, struct ty_error *err)
{
    struct ty_conn none = {0};
    int there = 0;
    sqlite3_vfs *vfs = sqlite3_vfs_find(store->vfs);
    if (!vfs)
        return ty_fail(err, TY_INTERNAL, "no such SQLite VFS");
    char *log_name = sqlite3_mprintf("%s-wal", store->path);
    sqlite3_filename name =
        log_name ? sqlite3_create_filename(store->path, "", log_name, 0, NULL) : NULL;
    int rc = name ? vfs->xAccess(vfs, log_name, SQLITE_ACCESS_EXISTS, &there) : SQLITE_NOMEM;
    if (rc == SQLITE_OK && there)
        rc = rewrite_log(vfs, sqlite3_filename_wal(name));
    if (name)
        sqlite3_free_filename(name);
    sqlite3_free(log_name);
    return rc == SQLITE_OK ? TY_OK : ty_conn_fail(&none, rc, "rewrite the log", err);
}
