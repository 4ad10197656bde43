/* Readers: connections that see the last commit and can change nothing. Given back they stay open
 * for the next one. */
#include "inside.h"

#include <stdlib.h>

static struct ty_reader *take_free(struct ty_store *store)
{
    pthread_mutex_lock(&store->readers_lock);
    struct ty_reader *reader = store->free_readers;
    if (reader)
        store->free_readers = reader->next;
    pthread_mutex_unlock(&store->readers_lock);
    return reader;
}

ty_status ty_reader_open(struct ty_store *store, struct ty_reader **reader_out,
                         struct ty_error *err)
{
    struct ty_reader *reader = take_free(store);
    if (!reader) {
        reader = calloc(1, sizeof(*reader));
        if (!reader)
            return ty_fail(err, TY_NO_MEMORY, "no memory for a database reader");
        ty_status status = ty_conn_open(&reader->conn, store->path, store->vfs, false, err);
        if (status != TY_OK) {
            free(reader);
            return status;
        }
        reader->store = store;
    }
    reader->next = NULL;
    *reader_out = reader;
    return TY_OK;
}

void ty_reader_close(struct ty_reader *reader)
{
    if (!reader)
        return;
    struct ty_store *store = reader->store;
    pthread_mutex_lock(&store->readers_lock);
    reader->next = store->free_readers;
    store->free_readers = reader;
    pthread_mutex_unlock(&store->readers_lock);
}

void ty_readers_close(struct ty_store *store)
{
    struct ty_reader *reader;
    while ((reader = take_free(store)) != NULL) {
        ty_conn_close(&reader->conn);
        free(reader);
    }
}

ty_status ty_reader_begin(struct ty_reader *reader, struct ty_error *err)
{
    if (reader->depth == 0) {
        ty_status status = ty_conn_run(&reader->conn, TY_SQL_BEGIN_READ, "read the database", err);
        if (status != TY_OK)
            return status;
    }
    reader->depth++;
    return TY_OK;
}

void ty_reader_end(struct ty_reader *reader)
{
    struct ty_error ignored;
    if (--reader->depth > 0)
        return;
    /* A read transaction has nothing to lose: a failure to end it can only mean that it has ended.
     */
    if (!sqlite3_get_autocommit(reader->conn.db))
        (void)!ty_conn_run(&reader->conn, TY_SQL_COMMIT, "end reading", &ignored);
    if (!sqlite3_get_autocommit(reader->conn.db))
        (void)!ty_conn_run(&reader->conn, TY_SQL_ROLLBACK, "end reading", &ignored);
}
