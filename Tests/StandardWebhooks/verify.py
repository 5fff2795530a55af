# SPDX-License-Identifier: Apache-2.0
"""Has the library of the Standard Webhooks project check deliveries as a gateway sent them.

verify.py FILE, where FILE has {"secret": text, "deliveries": [{"headers": {name: value}, "body": text}]}. Prints a line
for each check, and `N passed, N failed`.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

OTHER_SECRET = "whsec_" + "AAAA" * 8


def accepts(secret: str, body: str, headers: dict[str, str]) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def checks(secret: str, delivery: dict) -> dict[str, bool]:
    body, headers = delivery["body"], delivery["headers"]
    later = headers | {"webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}
    return {
        "the delivery is accepted": accepts(secret, body, headers),
        "another body is refused": not accepts(secret, body + " ", headers),
        "another ID is refused": not accepts(secret, body, headers | {"webhook-id": "evt_other"}),
        "another time is refused": not accepts(secret, body, later),
        "another key is refused": not accepts(OTHER_SECRET, body, headers),
    }


def main(path: str) -> int:
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
    results = [check for delivery in given["deliveries"] for check in checks(given["secret"], delivery).items()]
    for name, passed in results:
        print("ok" if passed else "not ok", name)
    failed = sum(not passed for _, passed in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not results else 0


sys.exit(main(sys.argv[1]))
