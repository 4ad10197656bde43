#include "api/access_table.h"

#include "trainyard/base/json.h"
#include "trainyard/base/map.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

enum { ROW_TEXT = 24, LIST_PAGE = 1000 };

struct token_entry {
    struct ty_principal principal;
    _Atomic int64_t last_used;
};

/* One consistent set. `tokens` is keyed by the digest in hex, `by_row` by the token's row
 * (borrowing the entries: a token in its rotation's grace has two digests, and the one that lives
 * longer stands here). */
struct snapshot {
    struct ty_map *tokens;
    struct ty_map *by_row;
    struct ty_map *tenants;
    bool has_admin;
};

struct ty_access_table {
    pthread_rwlock_t lock; /* guards `current` */
    struct snapshot current;
    pthread_mutex_t reloading; /* one reload at a time, so that the newest read wins */
};

/* What is kept of a tenant. */
struct tenant_entry {
    struct ty_access_tenant tenant;
    struct ty_policy *policy;
};

static void destroy_tenant(void *value)
{
    struct tenant_entry *entry = value;
    ty_policy_unref(entry->policy);
    free(entry);
}

static void snapshot_done(struct snapshot *set)
{
    ty_map_destroy(set->by_row);
    ty_map_destroy(set->tokens);
    ty_map_destroy(set->tenants);
    *set = (struct snapshot){0};
}

static ty_status snapshot_init(struct snapshot *set)
{
    *set = (struct snapshot){0};
    if (ty_map_create(free, &set->tokens) == TY_OK && ty_map_create(NULL, &set->by_row) == TY_OK &&
        ty_map_create(destroy_tenant, &set->tenants) == TY_OK)
        return TY_OK;
    snapshot_done(set);
    return TY_NO_MEMORY;
}

ty_status ty_access_table_create(struct ty_access_table **table_out)
{
    struct ty_access_table *table = calloc(1, sizeof *table);
    if (!table || snapshot_init(&table->current) != TY_OK) {
        free(table);
        return TY_NO_MEMORY;
    }
    pthread_rwlock_init(&table->lock, NULL);
    pthread_mutex_init(&table->reloading, NULL);
    *table_out = table;
    return TY_OK;
}

void ty_access_table_destroy(struct ty_access_table *table)
{
    if (!table)
        return;
    snapshot_done(&table->current);
    pthread_rwlock_destroy(&table->lock);
    pthread_mutex_destroy(&table->reloading);
    free(table);
}

static void row_key(int64_t row, char out[ROW_TEXT])
{
    snprintf(out, ROW_TEXT, "%" PRId64, row);
}

struct load {
    struct snapshot set;
    bool failed;
    int64_t last_row;
    size_t count;
};

static void fill_principal(struct ty_principal *principal, const struct ty_token_record *token,
                           int64_t valid_until)
{
    principal->tenant = token->tenant;
    ty_str_copy(principal->tenant_name, sizeof principal->tenant_name, token->tenant_name);
    ty_str_copy(principal->namespace, sizeof principal->namespace, token->namespace);
    principal->token = token->row;
    ty_str_copy(principal->token_id, sizeof principal->token_id, token->id);
    principal->role = token->role;
    principal->scopes = token->scopes;
    principal->expires_at = valid_until;
}

static bool outlives(const struct token_entry *a, const struct token_entry *b)
{
    if (!b || a->principal.expires_at == 0)
        return true;
    return b->principal.expires_at != 0 && a->principal.expires_at > b->principal.expires_at;
}

static bool load_token(void *context, const uint8_t digest[TY_SHA256], int64_t valid_until,
                       const struct ty_token_record *token)
{
    struct load *load = context;
    struct token_entry *entry = calloc(1, sizeof *entry);
    char key[TY_SHA256_HEX];
    char row[ROW_TEXT];
    ty_hex(digest, TY_SHA256, key);
    row_key(token->row, row);
    if (!entry || ty_map_put(load->set.tokens, key, entry) != TY_OK) {
        free(entry);
        load->failed = true;
        return false;
    }
    fill_principal(&entry->principal, token, valid_until);
    if (token->scopes & TY_SCOPE_SYSTEM_ADMIN)
        load->set.has_admin = true;
    if (outlives(entry, ty_map_get(load->set.by_row, row)) &&
        ty_map_put(load->set.by_row, row, entry) != TY_OK)
        load->failed = true;
    return !load->failed;
}

/* NULL when it cannot be read: no memory, or not what this program stored. */
static struct ty_policy *read_policy(const char *text)
{
    struct ty_policy *policy = NULL;
    struct ty_faults faults;
    ty_auto_json document = NULL;
    ty_faults_init(&faults);
    if (ty_json_parse(text, strlen(text), &document, NULL) != TY_OK ||
        ty_policy_parse(document, &policy, &faults, NULL) != TY_OK)
        return NULL;
    return policy;
}

static bool load_tenant(void *context, const struct ty_tenant_record *record)
{
    struct load *load = context;
    struct tenant_entry *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->policy = read_policy(record->policy)) ||
        ty_map_put(load->set.tenants, record->name, entry) != TY_OK) {
        if (entry)
            destroy_tenant(entry);
        load->failed = true;
        return false;
    }
    struct ty_access_tenant *tenant = &entry->tenant;
    tenant->row = record->row;
    ty_str_copy(tenant->name, sizeof tenant->name, record->name);
    ty_str_copy(tenant->namespace, sizeof tenant->namespace, record->namespace);
    tenant->quota = record->quota;
    tenant->default_keep_seconds = record->default_keep_seconds;
    tenant->default_timeout_seconds = record->default_timeout_seconds;
    load->last_row = record->row;
    load->count++;
    return true;
}

static ty_status load_all(struct load *load, struct ty_reader *reader, int64_t now,
                          struct ty_error *err)
{
    if (snapshot_init(&load->set) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "tokens");
    if (ty_tokens_load(reader, now, load_token, load, err) != TY_OK)
        return err->status;
    do {
        load->count = 0;
        if (ty_tenants_list(reader, load->last_row, LIST_PAGE, load_tenant, load, err) != TY_OK)
            return err->status;
    } while (load->count == LIST_PAGE);
    return load->failed ? ty_fail(err, TY_NO_MEMORY, "tokens") : TY_OK;
}

/* Uses that were noted but not yet written move over to the new set. */
static void carry_uses(const struct snapshot *from, const struct snapshot *to)
{
    size_t cursor = 0;
    const char *row;
    struct token_entry *old;
    while ((old = ty_map_next(from->by_row, &cursor, &row)) != NULL) {
        struct token_entry *entry = ty_map_get(to->by_row, row);
        if (entry)
            atomic_store(&entry->last_used, atomic_load(&old->last_used));
    }
}

ty_status ty_access_table_reload(struct ty_access_table *table, struct ty_reader *reader,
                                 int64_t now, struct ty_error *err)
{
    struct ty_error local;
    struct load load = {0};
    pthread_mutex_lock(&table->reloading);
    ty_status status = load_all(&load, reader, now, err ? err : &local);
    if (status == TY_OK) {
        pthread_rwlock_wrlock(&table->lock);
        struct snapshot old = table->current;
        carry_uses(&old, &load.set);
        table->current = load.set;
        pthread_rwlock_unlock(&table->lock);
        load.set = old;
    }
    pthread_mutex_unlock(&table->reloading);
    snapshot_done(&load.set);
    return status;
}

static bool expired(const struct token_entry *entry, int64_t now)
{
    return entry->principal.expires_at != 0 && now >= entry->principal.expires_at;
}

bool ty_access_table_find(struct ty_access_table *table, const uint8_t digest[TY_SHA256],
                          int64_t now, struct ty_principal *principal_out)
{
    char key[TY_SHA256_HEX];
    ty_hex(digest, TY_SHA256, key);
    pthread_rwlock_rdlock(&table->lock);
    struct token_entry *entry = ty_map_get(table->current.tokens, key);
    bool found = entry && !expired(entry, now);
    if (found) {
        *principal_out = entry->principal;
        atomic_store_explicit(&entry->last_used, now, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&table->lock);
    return found;
}

bool ty_access_table_alive(struct ty_access_table *table, int64_t token_row, int64_t now)
{
    char key[ROW_TEXT];
    row_key(token_row, key);
    pthread_rwlock_rdlock(&table->lock);
    struct token_entry *entry = ty_map_get(table->current.by_row, key);
    bool alive = entry && !expired(entry, now);
    pthread_rwlock_unlock(&table->lock);
    return alive;
}

bool ty_access_table_tenant(struct ty_access_table *table, const char *name,
                            struct ty_access_tenant *tenant_out)
{
    pthread_rwlock_rdlock(&table->lock);
    const struct tenant_entry *entry = ty_map_get(table->current.tenants, name);
    if (entry)
        *tenant_out = entry->tenant;
    pthread_rwlock_unlock(&table->lock);
    return entry != NULL;
}

struct ty_policy *ty_access_table_policy(struct ty_access_table *table, const char *name)
{
    pthread_rwlock_rdlock(&table->lock);
    struct tenant_entry *entry = ty_map_get(table->current.tenants, name);
    struct ty_policy *policy = entry ? ty_policy_ref(entry->policy) : NULL;
    pthread_rwlock_unlock(&table->lock);
    return policy;
}

bool ty_access_table_has_admin(struct ty_access_table *table)
{
    pthread_rwlock_rdlock(&table->lock);
    bool has = table->current.has_admin;
    pthread_rwlock_unlock(&table->lock);
    return has;
}

size_t ty_access_table_take_uses(struct ty_access_table *table, struct ty_token_use *out,
                                 size_t max)
{
    size_t count = 0;
    size_t cursor = 0;
    struct token_entry *entry;
    pthread_rwlock_rdlock(&table->lock);
    while (count < max && (entry = ty_map_next(table->current.tokens, &cursor, NULL)) != NULL) {
        int64_t at = atomic_exchange(&entry->last_used, 0);
        if (at != 0)
            out[count++] = (struct ty_token_use){.row = entry->principal.token, .at = at};
    }
    pthread_rwlock_unlock(&table->lock);
    return count;
}
