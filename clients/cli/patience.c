#include "patience.h"

#include "http.h"

#include "trainyard/base/clock.h"

void cli_patience_heard(struct cli_patience *patience)
{
    patience->heard = true;
    patience->failures = 0;
    patience->heard_ms = ty_monotonic_ms(ty_clock_system());
}

bool cli_patience_pause(struct cli_patience *patience, const struct cli *cli, int64_t retry_after,
                        int64_t most_ms)
{
    int64_t silent_ms = ty_monotonic_ms(ty_clock_system()) - patience->heard_ms;
    unsigned failures = ++patience->failures;
    if (patience->heard ? silent_ms > PATIENCE_MS : failures >= HTTP_TRIES) {
        cli_say("%s cannot be reached", cli->url);
        return false;
    }
    if (!patience->told && failures > 1) {
        cli_say("no answer from %s; trying again", cli->url);
        patience->told = true;
    }
    int64_t pause_ms = http_pause_ms(ty_random_system(), failures - 1, retry_after);
    http_sleep_ms(pause_ms < most_ms ? pause_ms : most_ms);
    return true;
}
