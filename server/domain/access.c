#include "trainyard/domain/access.h"

#include "trainyard/base/str.h"

struct scope_name {
    uint64_t bit;
    const char *name;
};

static const struct scope_name scope_names[] = {
    {TY_SCOPE_JOBS_READ,      "jobs:read"     },
    {TY_SCOPE_JOBS_WRITE,     "jobs:write"    },
    {TY_SCOPE_JOBS_CANCEL,    "jobs:cancel"   },
    {TY_SCOPE_LOGS_READ,      "logs:read"     },
    {TY_SCOPE_ARTIFACTS_READ, "artifacts:read"},
    {TY_SCOPE_VOLUMES_READ,   "volumes:read"  },
    {TY_SCOPE_VOLUMES_WRITE,  "volumes:write" },
    {TY_SCOPE_WEBHOOKS_READ,  "webhooks:read" },
    {TY_SCOPE_WEBHOOKS_WRITE, "webhooks:write"},
    {TY_SCOPE_TOKENS_MANAGE,  "tokens:manage" },
    {TY_SCOPE_TENANT_ADMIN,   "tenant:admin"  },
    {TY_SCOPE_SYSTEM_ADMIN,   "system:admin"  },
};

enum { SCOPE_COUNT = sizeof(scope_names) / sizeof(scope_names[0]) };

/* Each role is the one before it and more (T4). */
enum {
    VIEWER = TY_SCOPE_JOBS_READ | TY_SCOPE_LOGS_READ | TY_SCOPE_ARTIFACTS_READ |
             TY_SCOPE_VOLUMES_READ | TY_SCOPE_WEBHOOKS_READ,
    SUBMITTER = VIEWER | TY_SCOPE_JOBS_WRITE | TY_SCOPE_JOBS_CANCEL,
    OPERATOR = SUBMITTER | TY_SCOPE_VOLUMES_WRITE | TY_SCOPE_WEBHOOKS_WRITE,
    TENANT_ADMIN = OPERATOR | TY_SCOPE_TOKENS_MANAGE | TY_SCOPE_TENANT_ADMIN,
    SYSTEM_ADMIN = TENANT_ADMIN | TY_SCOPE_SYSTEM_ADMIN
};

struct role_row {
    const char *name;
    uint64_t scopes;
};

static const struct role_row roles[TY_ROLE_COUNT] = {
    [TY_ROLE_VIEWER] = {"viewer",       VIEWER      },
    [TY_ROLE_SUBMITTER] = {"submitter",    SUBMITTER   },
    [TY_ROLE_OPERATOR] = {"operator",     OPERATOR    },
    [TY_ROLE_TENANT_ADMIN] = {"tenant_admin", TENANT_ADMIN},
    [TY_ROLE_SYSTEM_ADMIN] = {"system_admin", SYSTEM_ADMIN},
};

const char *ty_scope_name(uint64_t bit)
{
    for (size_t i = 0; i < SCOPE_COUNT; i++)
        if (scope_names[i].bit == bit)
            return scope_names[i].name;
    return "unknown";
}

const char *ty_role_name(ty_role role)
{
    unsigned index = (unsigned)role;

    return index < TY_ROLE_COUNT ? roles[index].name : "unknown";
}

ty_status ty_scope_parse(const char *name, uint64_t *bit_out)
{
    for (size_t i = 0; i < SCOPE_COUNT; i++) {
        if (ty_str_equal(scope_names[i].name, name)) {
            *bit_out = scope_names[i].bit;
            return TY_OK;
        }
    }
    return TY_INVALID;
}

ty_status ty_role_parse(const char *name, ty_role *role_out)
{
    for (size_t i = 0; i < TY_ROLE_COUNT; i++) {
        if (ty_str_equal(roles[i].name, name)) {
            *role_out = (ty_role)i;
            return TY_OK;
        }
    }
    return TY_INVALID;
}

uint64_t ty_role_scopes(ty_role role)
{
    unsigned index = (unsigned)role;

    return index < TY_ROLE_COUNT ? roles[index].scopes : 0;
}
