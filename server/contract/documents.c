/* The page of problem codes, written from the rows of whoever owns the catalogue. */
#include "trainyard/contract/documents.h"

static void add_text(struct ty_buf *page, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            ty_buf_adds(page, "&amp;");
            break;
        case '<':
            ty_buf_adds(page, "&lt;");
            break;
        case '>':
            ty_buf_adds(page, "&gt;");
            break;
        case '"':
            ty_buf_adds(page, "&quot;");
            break;
        default:
            ty_buf_addc(page, *text);
        }
    }
}

/* Text with `code` in backquotes. */
static void add_sentence(struct ty_buf *page, const char *text)
{
    bool in_code = false;
    char piece[2] = "";

    for (; *text != '\0'; text++) {
        if (*text == '`') {
            ty_buf_adds(page, in_code ? "</code>" : "<code>");
            in_code = !in_code;
            continue;
        }
        piece[0] = *text;
        add_text(page, piece);
    }
    if (in_code)
        ty_buf_adds(page, "</code>");
}

static void add_row(struct ty_buf *page, const struct ty_document_problem *row)
{
    ty_buf_adds(page, "<article id=\"");
    add_text(page, row->code);
    ty_buf_addf(page, "\"><h3><span class=\"method\">%d</span><code>", row->status);
    add_text(page, row->code);
    ty_buf_adds(page, "</code></h3><p><strong>");
    add_text(page, row->title);
    ty_buf_adds(page, "</strong></p><p>");
    add_sentence(page, row->meaning);
    ty_buf_adds(page, "</p></article>\n");
}

static void add_links(struct ty_buf *page, const struct ty_document_problem *rows, size_t count)
{
    ty_buf_adds(page,
                "<nav aria-label=\"Codes\"><a href=\"/docs\">Reference</a><h2>Codes</h2><ul>\n");
    for (size_t i = 0; i < count; i++) {
        ty_buf_adds(page, "<li><a href=\"#");
        add_text(page, rows[i].code);
        ty_buf_adds(page, "\">");
        add_text(page, rows[i].code);
        ty_buf_adds(page, "</a></li>\n");
    }
    ty_buf_adds(page, "</ul></nav>\n");
}

void ty_contract_errors_page(struct ty_buf *page, const struct ty_document_problem *rows,
                             size_t count)
{
    ty_buf_adds(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<title>Problem codes - Trainyard</title>\n"
                      "<link rel=\"stylesheet\" href=\"/docs/style.css\">\n</head>\n<body>\n"
                      "<a class=\"skip\" href=\"#main\">To the codes</a>\n<div class=\"page\">\n");
    add_links(page, rows, count);
    ty_buf_adds(page,
                "<main id=\"main\">\n<h1>Problem codes</h1>\n<p class=\"lead\">Every error is "
                "<code>application/problem+json</code>; its <code>type</code> leads here. A code "
                "keeps its meaning for ever.</p>\n");
    for (size_t i = 0; i < count; i++)
        add_row(page, &rows[i]);
    ty_buf_adds(page, "</main>\n</div>\n</body>\n</html>\n");
}
