/* `trainyardd contract`: the embedded OpenAPI document on standard output. */
#include "app/commands.h"

#include "trainyard/contract/documents.h"

#include <stdio.h>

int command_contract(int argc, char **argv)
{
    (void)argv;
    if (argc > 0) {
        fprintf(stderr, "usage: trainyardd contract\n");
        return 2;
    }
    const struct ty_document *document = ty_contract_document();
    return fwrite(document->bytes, 1, document->len, stdout) == document->len &&
                   putchar('\n') == '\n'
               ? 0
               : 1;
}
