"""Names pass, tokens and numbers do not, and of an address only its origin does."""

from __future__ import annotations

import base64
import random
import string
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation_receipts.schemas.identifiers import (
    CONSTRAINTS,
    is_field,
    is_identifier,
    is_key_id,
    is_reference,
    is_tenant,
    is_url_origin,
    is_version,
    origin_of,
)

REFERENCE = "#0123456789ab." + "c" * 24

# Names of tools, servers, clients and properties as programs really give them.
ORDINARY = """
    trigger-elicitation-request trigger-elicitation-request-async trigger-url-elicitation
    simulate-research-query get-structured-content get-tiny-image get-resource-reference
    get-annotated-message get-roots-list toggle-simulated-logging toggle-subscriber-updates
    trigger-long-running-operation trigger-sampling-request gzip-file-as-resource echo get-env
    get-sum test_elicitation test_elicitation_sep1034_defaults test_elicitation_sep1330_enums
    test_client_elicitation_defaults io.modelcontextprotocol/server-everything
    io.modelcontextprotocol/clientCapabilities io.github.modelcontextprotocol/filesystem
    mcp-servers/everything modelcontextprotocol/inspector claude-code claude-ai cursor-vscode
    Visual-Studio-Code example-client MCPInspector elicitation-receipts fastmcp-server
    getUserAccountInformation structuredContentSchemaValidationTool createOrUpdateRepository
    listPullRequestReviewComments searchRepositoriesByTopic getNotificationSubscriptionStatus
    updateCustomerShippingAddress confirmSubscriptionCancellation requestAdditionalInformation
    calculateMonthlyMortgagePayment retrieveDocumentMetadata synchronizeCalendarEvents
    generateAuthorizationUrl validateConfigurationFile processRefundForOrder
    scheduleMaintenanceWindow analyzeApplicationPerformance exportConversationHistory
    deleteAllExpiredSessions getWeatherForecastByLocation sendPasswordResetInstructions
    create_or_update_file create_pull_request_review get_file_contents list_allowed_directories
    read_multiple_files search_repositories add_issue_comment push_files create_entities
    add_observations delete_relations open_nodes browser_navigate_back browser_network_requests
    browser_take_screenshot browser_select_option browser_handle_dialog browser_press_key
    puppeteer_connect_active_tab sequential_thinking convert_time get_current_time
    git_diff_unstaged git_create_branch slack_post_message slack_get_channel_history
    maps_distance_matrix maps_reverse_geocode brave_web_search brave_local_search
    kubernetes_list_namespaces kubectl_describe_resource query_database_schema
    describe_table_columns run_sql_statement list_s3_buckets upload_attachment_to_ticket
    assign_ticket_to_engineer close_support_conversation terraform_plan_and_apply
    rollback_last_deployment approve_production_release ask_for_shipping_address
    confirm_payment_method select_preferred_language collect_feedback_after_call
    choose_project_template set_notification_preferences first_name lastName email phoneNumber
    dateOfBirth postal_code country street_address preferredContactMethod emergency_contact_name
    company_registration_country numberOfGuests check_in_date check_out_date dietaryRequirements
    acceptTermsAndConditions newsletterSubscription shipping.address.line1 billing.address.city
    items:quantity untitledSingleSelectEnum untitledMultipleSelectEnum titledSingleSelectEnum
    titledMultipleSelectEnum legacyTitledEnum MAXIMUM_NUMBER_OF_RETRIES DEFAULT_TIMEOUT_SECONDS
    ENVIRONMENT_PRODUCTION_EUROPE HTTPServerConfiguration XMLDocumentParserOptions
    OAuthClientRegistrationEndpoint useReactQueryMutation getElementByDataTestId tools/call
    prompts/get resources/read com.example.payments/authorise org.apache.kafka.clients.producer
    urn:ietf:params:oauth:grant-type:device_code elicitation.receipts
    node_modules/typescript/lib/tsserver default staging production internationalization
    characteristically unquestionably counterrevolutionaries Benutzerkontoinformationen
    obtenerInformacionDelUsuario recupererLesInformations openTelemetryCollectorExporter
    duckdb_warehouse_migrations sqlite_write_ahead_log customer-onboarding-checklist
    employee-benefits-enrollment travel-expense-approval incident-response-coordinator
    data-retention-policy-editor release-notes-generator accessibility-audit-assistant
    translation-memory-lookup supplier-contract-review inventory-replenishment-bot
    warehouse-picking-optimizer
""".split()  # noqa: SIM905

SHAPELESS = [
    "", " ", "a b", "a\n", "\na", "é", "naïve", "1st", "_private", "-a", "/etc/passwd",
    "a@b.example", "a" * 65, "a\x00",
    "a,b", "a=b", "a+b", "a?b", "a#b", "$ref", "a'b", 'a"b', "a\u200bb", "ａ",
    "__main__:ask",
]  # fmt: skip

TOKENS = [
    "card4111111111111111", "a123456", "tel:0301234567", "id.20261130", "x/000000",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk-proj-9aX2bQ7LrT4vWm8ZkD1cYfHs",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ",
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "xoxb-Wk3Jd8Qm2Zp7Rt5Vn9Lb4Hx",
    "5f4dcc3b5aa765d61d8327deb882cf99", "AKIAIOSFODNN7EXAMPLE7QX2",
    "server/AbCdEfGhIjKlMnOpQrStUvWx", "key:qzxkvjwpfhgbtdnrmlcs",
]  # fmt: skip

ALPHABETS = {
    "hexadecimal": "0123456789abcdef",
    "HEXADECIMAL": "0123456789ABCDEF",
    "base32": string.ascii_uppercase + "234567",
    "base36": string.ascii_lowercase + string.digits,
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "base62": string.ascii_letters + string.digits,
    "base64url": string.ascii_letters + string.digits + "-_",
}


class TestIdentifier:
    @pytest.mark.parametrize("name", ORDINARY)
    def test_an_ordinary_name_passes(self, name: str) -> None:
        assert is_identifier(name)

    @pytest.mark.parametrize("text", SHAPELESS)
    def test_what_has_no_shape_of_a_name_does_not(self, text: str) -> None:
        assert not is_identifier(text)

    @pytest.mark.parametrize("token", TOKENS)
    def test_a_token_or_number_does_not(self, token: str) -> None:
        assert not is_identifier(token)

    def test_the_list_is_long_enough_to_mean_something(self) -> None:
        assert len(set(ORDINARY)) >= 150

    @pytest.mark.parametrize("alphabet", ALPHABETS)
    @pytest.mark.parametrize("length", [24, 32, 48])
    def test_of_random_tokens_fewer_than_one_in_a_thousand_passes(
        self, alphabet: str, length: int
    ) -> None:
        # A letter in front, else the shape alone would refuse many of them. Seeded: the
        # bound is statistical, the test is not.
        chance = random.Random(alphabet + str(length))
        tokens = [
            "t" + "".join(chance.choices(ALPHABETS[alphabet], k=length)) for _ in range(10_000)
        ]
        assert sum(map(is_identifier, tokens)) < 10

    @pytest.mark.parametrize(
        "make",
        [
            lambda data: f"id-{uuid.UUID(bytes=data[:16])}",
            lambda data: f"id:{uuid.UUID(bytes=data[:16]).hex}",
            lambda data: f"ghp_{base64.b64encode(data, altchars=b'xy').decode()[:36]}",
            lambda data: f"sk-{base64.urlsafe_b64encode(data).decode()[:40]}",
            lambda data: f"a/{base64.b32encode(data).decode()[:40]}",
        ],
        ids=["uuid", "uuid without dashes", "ghp", "sk", "base32"],
    )
    def test_of_well_known_kinds_neither(self, make: Callable[[bytes], str]) -> None:
        chance = random.Random(1)
        tokens = [make(chance.randbytes(32)) for _ in range(5_000)]
        assert sum(map(is_identifier, tokens)) < 5

    @given(st.text(ALPHABETS["base64url"] + ".:/", max_size=40), st.integers(10**5, 10**12 - 1))
    def test_six_digits_anywhere_are_too_many(self, text: str, number: int) -> None:
        assert not is_identifier(f"a{text[:20]}{number}{text[20:]}")

    @given(st.lists(st.sampled_from(ORDINARY[:40]), min_size=1, max_size=3))
    def test_names_joined_to_a_path_are_a_name(self, names: list[str]) -> None:
        path = "/".join(names)
        assert is_identifier(path) == (len(path) <= 64)


class TestVersion:
    @pytest.mark.parametrize(
        "text",
        [
            "1", "0.1.0", "v1.2.3", "2026.8.31", "1.0.0-alpha.12", "1.0.0-rc.1+build.5", "0.66b2",
            "2.9.post0", "1.2.3-SNAPSHOT", "10.0.22631", "4.3.1+g1a2b3c4", "1.0.dev3",
        ],
    )  # fmt: skip
    def test_a_version_passes(self, text: str) -> None:
        assert is_version(text)

    @pytest.mark.parametrize(
        "text",
        [
            "", "1.", ".1", "1..2", "1.2.3\n", "v", "vv1", "latest", "1980-04-12", "12/04/1980",
            "20261130", "1.0.0-20261130", "555-0199", "123-45-6789", "4111 1111", "١.٢",
            "1." + "0." * 31 + "000", "1.0.0+" + "f81d4fae7dec11d0a76500a0c91e6bf6", "1.0 beta",
            "1.0.0+qzxkvjwpfhgbtdnrmlcs",
        ],
    )  # fmt: skip
    def test_what_is_none_does_not(self, text: str) -> None:
        assert not is_version(text)


class TestSmallShapes:
    @pytest.mark.parametrize(
        ("rule", "passes", "fails"),
        [
            (is_reference, [REFERENCE], ["", REFERENCE[1:], REFERENCE + "0", REFERENCE.upper(),
                                         REFERENCE + "\n", "#" + "0" * 12 + ".short"]),
            (is_key_id, ["0123456789ab"], ["", "0123456789a", "0123456789AB", "0123456789ab\n"]),
            (is_tenant, ["a", "0", "acme.example-eu_1", "a" * 64],
             ["", "A", "-a", ".a", "a..b", "a/b", "a" * 65, "a\n", REFERENCE]),
            (is_field, ["email", "[0]", "[12]", "[999999999]"],
             ["", "[]", "[01]", "[-1]", "[1", "[a]", "[1]x", "[1234567890]", REFERENCE, "a b"]),
        ],
        ids=["reference", "key id", "tenant", "field"],
    )  # fmt: skip
    def test_exactly_these(
        self, rule: Callable[[str], bool], passes: list[str], fails: list[str]
    ) -> None:
        assert [text for text in passes if not rule(text)] == []
        assert [text for text in fails if rule(text)] == []

    def test_which_rules_take_a_reference(self) -> None:
        assert {name for name, rule in CONSTRAINTS.items() if rule(REFERENCE)} == {
            "identifier",
            "version",
            "protocol_version",
            "method",
        }

    def test_closed_lists(self) -> None:
        assert CONSTRAINTS["protocol_version"]("2025-11-25")
        assert not CONSTRAINTS["protocol_version"]("1980-04-12")
        assert CONSTRAINTS["method"]("tools/call")
        assert not CONSTRAINTS["method"]("tools/list")

    @given(st.text())
    def test_no_rule_allows_what_could_be_a_sentence(self, text: str) -> None:
        for rule in CONSTRAINTS.values():
            assert not rule(f"{text} {text}")
            assert not rule(text + "\n")
            assert not rule(text + "é")


def refer(host: str) -> str:
    assert isinstance(host, str)
    return REFERENCE


def origin(url: str) -> str:
    return origin_of(url, refer)


class TestOrigin:
    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("https://pay.example/x?y=1#z", "https://pay.example"),
            ("HTTPS://Pay.Example", "https://pay.example"),
            ("https://pay.example:443/", "https://pay.example"),
            ("http://pay.example:80/", "http://pay.example"),
            ("http://pay.example:443/", "http://pay.example:443"),
            ("https://pay.example:08443/", "https://pay.example:8443"),
            ("https://pay.example:/", "https://pay.example"),
            ("https://pay.example.", "https://pay.example"),
            ("https://ann:secret@pay.example:8443/x", "https://pay.example:8443"),
            ("https://a@b@pay.example", "https://pay.example"),
            ("https://pay.example\\@evil.example", "https://pay.example"),
            ("https:\\\\pay.example\\x", "https://pay.example"),
            ("https:pay.example", "https://pay.example"),
            ("https:///pay.example/x", "https://pay.example"),
            ("  https://pay.example\n", "https://pay.example"),
            ("ht\ntps://pay\t.example/", "https://pay.example"),
            ("\x00\x1fhttps://pay.example", "https://pay.example"),
            ("https://p%61y.example/", "https://pay.example"),
            ("https://münchen.example/", "https://xn--mnchen-3ya.example"),
            ("https://MÜNCHEN.example/", "https://xn--mnchen-3ya.example"),
            ("https://m%C3%BCnchen.example/", "https://xn--mnchen-3ya.example"),
            ("https://xn--mnchen-3ya.example", "https://xn--mnchen-3ya.example"),
            ("https://pay。example", "https://pay.example"),
            ("https://localhost:8080/", "https://localhost:8080"),
            ("https://my_host.example", "https://my_host.example"),
            ("http://192.0.2.1:81/", "http://192.0.2.1:81"),
            ("http://[2001:DB8::0:1]/", "http://[2001:db8::1]"),
            ("http://[::1]:99/", "http://[::1]:99"),
            ("http://[::ffff:192.0.2.1]/", "http://[::ffff:c000:201]"),
        ],
    )
    def test_scheme_host_and_port(self, url: str, expected: str) -> None:
        assert origin(url) == expected

    @pytest.mark.parametrize(
        "url",
        [
            "https://", "https:///", "https://@", "https://:1/", "https://user@:8443/",
            "https://pay.example:65536/", "https://pay.example:-1/", "https://pay.example:x/",
            "https://pay.example:８０/", "https://pay.example:" + "9" * 10_000, "https://a:b:c/",
            "https://pay example/", "https://pay%20example/", "https://pay%2Fexample/",
            "https://pay%00.example/", "https://%ff/", "https://%/", "https://a..b/", "https://-a.b/",
            "https://a-.b/", "https://☃.example/", "https://\ud800.example/", "https://xn--\u200d/",
            "https://" + "a" * 64 + ".example", "https://" + "a." * 127 + "example", "https://[::1/",
            "https://[fe80::1%25eth0]/", "https://[::1]x/", "https://]/", "https://[]/",
            "http://192.0.2/", "http://0x7f.1/", "http://192.0.2.256/", "http://1234567890/",
            "http://192.0.2.01/", "https://١٢٣.example:٨/", "https://<b>/", "https://a,b/",
        ],
        ids=lambda url: ascii(url)[:40],
    )  # fmt: skip
    def test_a_host_that_is_not_valid_becomes_a_reference(self, url: str) -> None:
        assert origin(url).partition("://")[2].startswith(REFERENCE)

    @pytest.mark.parametrize(
        "host",
        [
            "order-123456.example", "4111111111111111.example",
            "f81d4fae7dec11d0a76500a0c91e6bf6.example",
            "eyjhbgcioijiuzi1niisinr5cci6ikpxvcj9.example", "x.qzxkvjwpfhgbtdnrmlcs.example",
        ],
    )  # fmt: skip
    def test_a_host_that_looks_like_a_secret_becomes_a_reference_whole(self, host: str) -> None:
        assert origin(f"https://{host}:8443/x") == f"https://{REFERENCE}:8443"
        assert not is_url_origin(f"https://{host}")

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("javascript:alert(1)", "javascript:"),
            ("JavaScript://pay.example/%0Aalert(1)", "javascript:"),
            ("java\nscript:alert(1)", "javascript:"),
            ("data:text/html,secret", "data:"),
            ("mailto:ann@example.com", "mailto:"),
            ("tel:+15550199", "tel:"),
            ("file:///home/ann", "file:"),
            ("wss://pay.example", "wss:"),
            ("blob:https://pay.example/x", "blob:"),
            ("secretscheme://pay.example", "other:"),
            ("s3cr3t+x:y", "other:"),
            ("/path", "other:"),
            ("pay.example/x", "other:"),
            ("//pay.example/x", "other:"),
            ("", "other:"),
            ("://", "other:"),
            ("ｈttps://pay.example", "other:"),
        ],
    )
    def test_other_schemes_say_no_more_than_themselves(self, url: str, expected: str) -> None:
        assert origin(url) == expected

    def test_equal_hosts_have_equal_references(self) -> None:
        seen: list[str] = []

        def note(host: str) -> str:
            seen.append(host)
            return REFERENCE

        for url in ("https://Order-123456.example/a", "https://ann@order-123456.EXAMPLE/b"):
            origin_of(url, note)
        assert seen == ["order-123456.example"] * 2

    @given(
        st.text()
        | st.from_regex(r"https?:[/\\]{0,3}[^/]{0,40}(:[0-9]{0,6})?(/.*)?", fullmatch=True)
        | st.text("htps:/\\@[]%.-_0aé\t ", max_size=40).map("https://{}".format)
    )
    def test_any_text_has_an_origin_that_the_codec_takes(self, url: str) -> None:
        found = origin(url)
        assert is_url_origin(found)
        assert CONSTRAINTS["url_origin"](found)
        if found.startswith("http") and REFERENCE not in found:
            assert origin(found) == found, "an origin is its own origin"

    @given(
        st.sampled_from(["https", "http", "HTTPS", "ftp", "x-y"]),
        st.sampled_from(["pay.example", "münchen.example", "[::1]", "-bad-", "", "order-123456.a"]),
        st.sampled_from(["", ":8443", ":99999"]),
        st.sampled_from(["/", "\\", "?", "#", "/?", "/#"]),
        st.text(),
    )
    def test_nothing_but_the_origin_counts(
        self, scheme: str, host: str, port: str, end: str, rest: str
    ) -> None:
        # `rest` ends where a browser would strip, and a control character is no separator.
        plain = origin(f"{scheme}://{host}{port}/")
        # Without host and port it is one slash more, and what follows is the host.
        is_host = not host + port and end in ("/", "\\")
        expected = origin(f"{scheme}://{rest}") if is_host else plain
        assert origin(f"{scheme}://{host}{port}{end}{rest}") == expected
        user = rest.translate(dict.fromkeys(map(ord, "/\\?#"), "x"))
        assert origin(f"{scheme}://{user}@{host}{port}/") == plain

    @pytest.mark.parametrize(
        "text",
        [
            "https://pay.example/", "https://pay.example/x", "https://pay.example?x", "https://",
            "https://ann@pay.example", "https://Pay.example", "https://pay.example:443",
            "https://pay.example:00", "https://pay.example:08", "https://pay.example:65536",
            "ftp://pay.example", "pay.example", "other", "secret:", ":", "", "javascript:x",
            "https://pay.example\n", "https://münchen.example", "https://[::0001]", "https://[::1",
            REFERENCE, f"https://{REFERENCE}x",
        ],
    )  # fmt: skip
    def test_what_is_no_origin(self, text: str) -> None:
        assert not is_url_origin(text)
