#include "migrate.h"

#include "trainyard/base/buf.h"
#include "trainyard/base/failpoint.h"

/* A database without tables is a new one; anything else must carry our application_id. */
static ty_status check_ours(struct ty_conn *conn, int64_t *version_out, struct ty_error *err)
{
    int64_t application = 0;
    int64_t tables = 0;
    ty_status status = ty_conn_int(conn, "PRAGMA application_id", 0, &application, err);
    if (status == TY_OK)
        status = ty_conn_int(conn, "SELECT count(*) FROM sqlite_schema", 0, &tables, err);
    if (status != TY_OK)
        return status;
    if (application != TY_APPLICATION_ID && (application != 0 || tables != 0))
        return ty_fail(err, TY_CORRUPT, "the database file belongs to another program");
    return ty_conn_int(conn, "PRAGMA user_version", 0, version_out, err);
}

static ty_status apply(struct ty_conn *conn, const struct ty_migration *migration,
                       struct ty_error *err)
{
    ty_auto_buf sql = {0};
    ty_buf_init(&sql, 1024 * 1024);
    ty_buf_adds(&sql, "BEGIN IMMEDIATE;\n");
    ty_buf_adds(&sql, migration->sql);
    ty_buf_addf(&sql, "\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\nCOMMIT;\n",
                TY_APPLICATION_ID, migration->version);
    ty_status status = ty_buf_check(&sql, "migration", err);
    if (status != TY_OK)
        return status;
    status = ty_conn_exec(conn, sql.data, migration->name, err);
    if (status != TY_OK && !sqlite3_get_autocommit(conn->db))
        (void)sqlite3_exec(conn->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

ty_status ty_migrate_check(struct ty_conn *conn, const struct ty_migration *migrations,
                           size_t count, int64_t *version_out, struct ty_error *err)
{
    int64_t version = 0;
    ty_status status = check_ours(conn, &version, err);
    if (status != TY_OK)
        return status;
    int64_t newest = count > 0 ? migrations[count - 1].version : 0;
    if (version > newest)
        return ty_fail(err, TY_UNSUPPORTED,
                       "the database has schema version %lld, this build knows up to %lld: start a "
                       "newer trainyardd or restore a backup",
                       (long long)version, (long long)newest);
    *version_out = version;
    return TY_OK;
}

ty_status ty_migrate(struct ty_conn *conn, const struct ty_migration *migrations, size_t count,
                     struct ty_error *err)
{
    int64_t version = 0;
    ty_status status = ty_migrate_check(conn, migrations, count, &version, err);
    for (size_t i = 0; i < count && status == TY_OK; i++) {
        if (migrations[i].version <= version)
            continue;
        ty_failpoint("store.before_migration");
        status = apply(conn, &migrations[i], err);
        ty_failpoint("store.after_migration");
        if (status != TY_OK)
            (void)ty_wrap(err, "migration %d", migrations[i].version);
    }
    return status;
}
