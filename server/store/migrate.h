/* The schema's version: numbered SQL files, each applied in one transaction together with
 * user_version. */
#ifndef STORE_MIGRATE_H
#define STORE_MIGRATE_H

#include "conn.h"

#include <stddef.h>

/* "tyrd": tells our files from other SQLite databases. */
enum { TY_APPLICATION_ID = 0x74797264 };

struct ty_migration {
    int version; /* 1, 2, 3… without gaps */
    const char *name;
    const char *sql;
};

/* Embedded at build from migrations/. */
extern const struct ty_migration ty_migrations[];
extern const size_t ty_migrations_count;

/* Whether the database is ours and not of a newer version, before anything is written to it.
 *   TY_UNSUPPORTED  the database is of a newer version
 *   TY_CORRUPT      it is an SQLite database, but not ours */
ty_status ty_migrate_check(struct ty_conn *conn, const struct ty_migration *migrations,
                           size_t count, int64_t *version_out, struct ty_error *err) TY_MUST_CHECK;

/* Bring the database to the newest of `migrations`. A failure leaves the version reached so far:
 * what ty_migrate_check says, or what the database said. */
ty_status ty_migrate(struct ty_conn *conn, const struct ty_migration *migrations, size_t count,
                     struct ty_error *err) TY_MUST_CHECK;

#endif
