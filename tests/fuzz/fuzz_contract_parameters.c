/* Any texts as parameters. The first byte picks the operation; each following line is a place (p, q
 * or h), a name, '=' and a value. */
#include "trainyard/base/buf.h"
#include "trainyard/contract/contract.h"
#include "trainyard/contract/documents.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINES_MAX = 32 };

struct lines {
    size_t count;
    struct {
        char place;
        const char *name;
        const char *value;
    } items[LINES_MAX];
};

static struct ty_contract *contract;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const struct ty_document *document = ty_contract_rules();

    (void)argc;
    (void)argv;
    if (ty_contract_create(document->bytes, document->len, &contract, NULL) != TY_OK)
        abort();
    return 0;
}

/* Splits `text` in place; lines without '=' are left out. */
static void read_lines(char *text, struct lines *lines)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line && lines->count < LINES_MAX;
         line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line + 1, '=');

        if (line[0] == '\0' || !value)
            continue;
        *value = '\0';
        lines->items[lines->count].place = line[0];
        lines->items[lines->count].name = line + 1;
        lines->items[lines->count++].value = value + 1;
    }
}

static const char *find(const struct lines *lines, char place, const char *name)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->items[i].place == place && strcasecmp(lines->items[i].name, name) == 0)
            return lines->items[i].value;
    }
    return NULL;
}

static const char *variable(void *context, const char *name)
{
    return find(context, 'p', name);
}

static const char *header(void *context, const char *name)
{
    return find(context, 'h', name);
}

static bool query(void *context, size_t index, const char **name_out, const char **value_out)
{
    struct lines *lines = context;

    for (size_t i = 0; i < lines->count; i++) {
        if (lines->items[i].place != 'q' || index-- > 0)
            continue;
        *name_out = lines->items[i].name;
        *value_out = lines->items[i].value;
        return true;
    }
    return false;
}

/* What was taken can be read back. */
static void read_back(const struct ty_operation *operation, const struct ty_arguments *arguments)
{
    if (strcmp(ty_operation_id(operation), "jobs_list") != 0)
        return;
    if (ty_argument_integer(arguments, "limit") < 1)
        abort();
    for (size_t i = 0; i < ty_argument_count(arguments, "state"); i++) {
        if (!ty_argument_item(arguments, "state", i))
            abort();
    }
    for (size_t i = 0; i < ty_argument_count(arguments, "label"); i++) {
        if (!strchr(ty_argument_item(arguments, "label", i), '='))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ty_operation *operation;
    struct lines lines = {0};
    struct ty_parameter_source source = {
        .context = &lines, .variable = variable, .query = query, .header = header};
    struct ty_arguments arguments;
    struct ty_faults faults;
    char *text;
    ty_status status;

    if (size == 0)
        return 0;
    operation = ty_contract_operation_at(contract, data[0] % ty_contract_operation_count(contract));
    text = strndup((const char *)data + 1, size - 1);
    if (!text)
        return 0;
    read_lines(text, &lines);
    ty_faults_init(&faults);
    status = ty_operation_check_parameters(operation, &source, &arguments, &faults, NULL);
    if (status != TY_OK && status != TY_INVALID && status != TY_NOT_FOUND)
        abort();
    if ((status == TY_OK) == ty_faults_any(&faults))
        abort();
    if (status == TY_OK)
        read_back(operation, &arguments);
    free(text);
    return 0;
}
