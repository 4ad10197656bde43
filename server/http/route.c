/* The route table, compiled into a tree with one level a path segment. */
#include "trainyard/http/route.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

/* A row with its variables found. `text` is its path, cut into segments. */
struct row {
    const struct ty_route *route;
    const char *names[TY_ROUTE_VARIABLES];
    unsigned char first_segment[TY_ROUTE_VARIABLES];
    size_t variable_count;
    bool has_rest;
    char *text;
};

struct node {
    const char *literal; /* of the segment that leads here; NULL for variables and the root */
    struct node **children;
    size_t child_count;
    struct node *variable;
    struct node *rest;
    const struct row *rows[TY_METHOD_COUNT];
    bool has_rows;
    char allow[64];
};

struct ty_router {
    struct node *root;
    struct row *rows;
    size_t row_count;
};

static void destroy_node(struct node *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->child_count; i++)
        destroy_node(node->children[i]);
    destroy_node(node->variable);
    destroy_node(node->rest);
    free(node->children);
    free(node);
}

void ty_router_destroy(struct ty_router *router)
{
    if (!router)
        return;
    destroy_node(router->root);
    for (size_t i = 0; i < router->row_count; i++)
        free(router->rows[i].text);
    free(router->rows);
    free(router);
}

/* The node that `*slot` holds, made if need be; NULL: no memory. */
static struct node *need_node(struct node **slot)
{
    if (!*slot)
        *slot = calloc(1, sizeof **slot);
    return *slot;
}

static struct node *find_child(const struct node *node, const char *literal)
{
    for (size_t i = 0; i < node->child_count; i++)
        if (ty_str_equal(node->children[i]->literal, literal))
            return node->children[i];
    return NULL;
}

static struct node *need_child(struct node *node, const char *literal)
{
    struct node *child = find_child(node, literal);
    struct node **children;

    if (child)
        return child;
    children = realloc(node->children, (node->child_count + 1) * sizeof *children);
    if (!children)
        return NULL;
    node->children = children;
    child = calloc(1, sizeof *child);
    if (!child)
        return NULL;
    child->literal = literal;
    children[node->child_count++] = child;
    return child;
}

static bool name_taken(const struct row *row, const char *name)
{
    for (size_t i = 0; i < row->variable_count; i++)
        if (ty_str_equal(row->names[i], name))
            return true;
    return false;
}

/* Note the variable `segment`, "{name}" or "{name...}", braces and dots cut off in place. Returns
 * what is wrong, or NULL. */
static const char *note_variable(struct row *row, char *segment, size_t index, bool last)
{
    size_t len = strlen(segment);
    char *name = segment + 1;

    if (len < 3 || segment[len - 1] != '}')
        return "a variable is not {name}";
    segment[--len] = '\0';
    row->has_rest = ty_str_ends(name, "...");
    if (row->has_rest)
        segment[len - 3] = '\0';
    if (row->has_rest && !last)
        return "a rest variable is not the last segment";
    if (!*name || name_taken(row, name) || row->variable_count == TY_ROUTE_VARIABLES)
        return "a variable name is empty, repeated or one too many";
    row->names[row->variable_count] = name;
    row->first_segment[row->variable_count++] = (unsigned char)index;
    return NULL;
}

/* Lead one row's path through the tree. *node_out is its end, NULL when memory ran out. */
static const char *place_row(struct node *root, struct row *row, struct node **node_out)
{
    struct node *node = root;
    char *at = row->text + 1;

    for (size_t index = 0; node; index++) {
        char *slash = strchr(at, '/');
        const char *wrong = NULL;

        if (slash)
            *slash = '\0';
        if (*at != '{') {
            node = need_child(node, at);
        } else {
            wrong = note_variable(row, at, index, !slash);
            node = need_node(row->has_rest ? &node->rest : &node->variable);
        }
        if (wrong)
            return wrong;
        if (!slash)
            break;
        at = slash + 1;
    }
    *node_out = node;
    return NULL;
}

static void write_allow(struct node *node)
{
    char *at = node->allow;

    for (unsigned i = 0; i < TY_METHOD_COUNT; i++) {
        bool has = node->rows[i] || i == TY_METHOD_OPTIONS ||
                   (i == TY_METHOD_HEAD && node->rows[TY_METHOD_GET]);

        if (!has)
            continue;
        if (at != node->allow) {
            memcpy(at, ", ", 2);
            at += 2;
        }
        memcpy(at, ty_method_name((ty_method)i), strlen(ty_method_name((ty_method)i)));
        at += strlen(ty_method_name((ty_method)i));
    }
    *at = '\0';
}

static ty_status add_row(struct ty_router *router, const struct ty_route *route,
                         struct ty_error *err)
{
    struct row *row = &router->rows[router->row_count];
    struct node *end = NULL;
    const char *wrong;

    if (route->path[0] != '/')
        return ty_fail(err, TY_INVALID, "route %s does not start with a slash", route->path);
    if (route->method == TY_METHOD_HEAD || route->method >= TY_METHOD_OPTIONS || !route->handler)
        return ty_fail(err, TY_INVALID, "route %s: method or handler", route->path);
    row->route = route;
    row->text = strdup(route->path);
    if (!row->text)
        return ty_fail(err, TY_NO_MEMORY, "compile routes");
    router->row_count++;
    wrong = place_row(router->root, row, &end);
    if (wrong)
        return ty_fail(err, TY_INVALID, "route %s: %s", route->path, wrong);
    if (!end)
        return ty_fail(err, TY_NO_MEMORY, "compile routes");
    if (end->rows[route->method])
        return ty_fail(err, TY_INVALID, "route %s %s is there twice", ty_method_name(route->method),
                       route->path);
    end->rows[route->method] = row;
    end->has_rows = true;
    write_allow(end);
    return TY_OK;
}

ty_status ty_router_create(const struct ty_route *routes, size_t count,
                           struct ty_router **router_out, struct ty_error *err)
{
    struct ty_router *router = calloc(1, sizeof *router);
    ty_status status = TY_OK;

    if (router) {
        router->root = calloc(1, sizeof *router->root);
        router->rows = calloc(count ? count : 1, sizeof *router->rows);
    }
    if (!router || !router->root || !router->rows)
        status = ty_fail(err, TY_NO_MEMORY, "compile routes");
    for (size_t i = 0; i < count && !status; i++)
        status = add_row(router, &routes[i], err);
    if (status) {
        ty_router_destroy(router);
        return status;
    }
    *router_out = router;
    return TY_OK;
}

/* The end of the best path for segments[index..): a literal before a variable before a rest, each
 * tried to its end. */
static const struct node *walk(const struct node *node, const char *const *segments, size_t count,
                               size_t index)
{
    const struct node *child;
    const struct node *found = NULL;

    if (index == count)
        return node->has_rows ? node : NULL;
    child = find_child(node, segments[index]);
    if (child)
        found = walk(child, segments, count, index + 1);
    if (!found && node->variable && *segments[index])
        found = walk(node->variable, segments, count, index + 1);
    if (!found && node->rest && *segments[index])
        found = node->rest;
    return found;
}

ty_status ty_router_find(const struct ty_router *router, ty_method method,
                         const char *const *segments, size_t count,
                         struct ty_route_match *match_out)
{
    const struct node *node = walk(router->root, segments, count, 0);
    const struct row *row;

    *match_out = (struct ty_route_match){0};
    if (!node)
        return TY_NOT_FOUND;
    match_out->allow = node->allow;
    row = node->rows[method == TY_METHOD_HEAD ? TY_METHOD_GET : method];
    if (!row)
        return TY_REFUSED;
    match_out->route = row->route;
    match_out->variable_count = row->variable_count;
    match_out->has_rest = row->has_rest;
    memcpy(match_out->names, row->names, sizeof row->names);
    memcpy(match_out->first_segment, row->first_segment, sizeof row->first_segment);
    return TY_OK;
}
