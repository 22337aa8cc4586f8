"""Dockerfile and docker-compose.yml, as far as they can be checked without a Docker engine."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from cairn.settings import Settings, parse_settings

REPO = Path(__file__).resolve().parents[2]
DOCKERFILE = (REPO / "Dockerfile").read_text()
COMPOSE_TEXT = (REPO / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(COMPOSE_TEXT)


def instructions() -> list[tuple[str, str]]:
    """(instruction, rest) of the Dockerfile with continued lines joined."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def of(kind: str) -> list[str]:
    return [rest for name, rest in instructions() if name == kind]


def final_stage() -> list[tuple[str, str]]:
    last = max(index for index, (name, _) in enumerate(instructions()) if name == "FROM")
    return instructions()[last:]


def copied() -> list[str]:
    sources = []
    for rest in of("COPY"):
        words = shlex.split(rest)
        if not words[0].startswith("--from"):
            sources += words[:-1]
    return sources


def ignored(path: str) -> bool:
    """The last matching line of .dockerignore decides."""
    verdict = False
    for line in (REPO / ".dockerignore").read_text().split():
        if fnmatch.fnmatch(path, line.removeprefix("!")):
            verdict = not line.startswith("!")
    return verdict


@pytest.mark.parametrize("source", copied())
def test_what_is_copied_exists_and_reaches_the_build(source: str) -> None:
    assert (REPO / source).exists()
    assert not ignored(source)


def test_nothing_else_is_sent_to_the_build() -> None:
    assert ignored(".git")
    assert ignored(".venv")
    assert ignored(".env")


def test_the_copied_files_are_all_that_the_wheel_is_made_of() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"]}
    assert {path.split("/")[0] for path in needed} <= set(copied())


@pytest.mark.parametrize("command", of("RUN"))
def test_each_run_line_is_shell(command: str) -> None:
    checked = subprocess.run(["sh", "-n", "-c", command], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_it_runs_as_an_ordinary_user_on_the_open_side_of_the_container_only() -> None:
    stage = final_stage()
    names = [name for name, _ in stage]
    assert dict(stage)["USER"] not in ("root", "0")
    assert "RUN" not in names[names.index("USER") :]
    assert "CAIRN_HOST=0.0.0.0" in dict(stage)["ENV"]
    assert "CAIRN_ALLOW_OPEN" not in dict(stage)["ENV"], "being open is the operator's decision"


def test_its_command_is_one_that_the_project_installs() -> None:
    scripts = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["scripts"]
    for command in (json.loads(dict(final_stage())["CMD"]), COMPOSE["services"]["worker"]["command"]):
        assert command[0] in scripts


def test_the_image_has_what_make_install_installs() -> None:
    makefile = (REPO / "Makefile").read_text()
    for name in ("product", "build", "model"):
        assert f"requirements/{name}.txt" in makefile
        assert f"-r requirements/{name}.txt" in DOCKERFILE


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_health_check_asks_whether_the_service_is_ready(status: int, healthy: bool) -> None:
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    command = shlex.split(of("HEALTHCHECK")[0].partition("CMD ")[2])
    assert command[0] == "python"
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        environment = {"CAIRN_PORT": str(server.server_port)}
        done = subprocess.run([sys.executable, *command[1:]], env=environment, capture_output=True, check=False)
    assert (done.returncode == 0) == healthy
    assert asked == ["/health/ready"]


# --- docker-compose.yml ---------------------------------------------------------------------------------------------


def test_services_wait_for_what_they_need_and_say_when_they_are_ready() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"database", "app", "worker"}
    assert re.fullmatch(r"pgvector/pgvector:pg18(@sha256:[0-9a-f]{64})?", services["database"]["image"])
    assert "pg_isready" in services["database"]["healthcheck"]["test"]
    for service in services.values():
        for needed, how in service.get("depends_on", {}).items():
            assert how["condition"] == "service_healthy"
            assert not services[needed].get("healthcheck", {}).get("disable")


def test_every_named_volume_is_declared() -> None:
    mounts = [mount for service in COMPOSE["services"].values() for mount in service.get("volumes", [])]
    names = {re.sub(r"^\$\{\w+:-(\w+)\}", r"\1", mount).split(":")[0] for mount in mounts}
    assert names == set(COMPOSE["volumes"])


def test_the_settings_folder_is_mounted_not_the_file() -> None:
    settings = Path(re.findall(r"CAIRN_SETTINGS=(\S+)", DOCKERFILE)[0])
    targets = {mount.rpartition(":")[2] for mount in COMPOSE["services"]["app"]["volumes"]}
    assert str(settings.parent) in targets
    assert str(settings) not in targets


def test_a_new_volume_holds_no_defaults_that_an_upgrade_could_not_renew() -> None:
    """A named volume begins as the folder of the image."""
    [made] = [rest for name, rest in final_stage() if name == "RUN" and "/etc/cairn" in rest]
    written = re.search(r"echo '(.*)' > (\S+)", made)
    assert written
    assert f"CAIRN_SETTINGS={written[2]}" in dict(final_stage())["ENV"]
    assert parse_settings(written[1].encode()) == Settings()
    assert not any("settings.json" in rest for rest in of("COPY"))


def test_the_password_has_no_default_and_starting_without_one_says_so() -> None:
    uses = re.findall(r"\$\{CAIRN_DATABASE_PASSWORD(.*?)\}", COMPOSE_TEXT)
    assert len(uses) == 2
    assert all(use.startswith(":?set CAIRN_DATABASE_PASSWORD") for use in uses)
    assert "POSTGRES_HOST_AUTH_METHOD" not in COMPOSE_TEXT


def test_ports_are_published_on_this_machine_only() -> None:
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_other_containers_may_call_the_app_by_the_name_of_its_service() -> None:
    """The Host header that they send; that the server then answers is tested in test_api_browser.py."""
    environment = COMPOSE["services"]["app"]["environment"]
    assert "app" in COMPOSE["services"]
    assert environment["CAIRN_ALLOWED_HOSTS"].split(",") == ["app"]
    assert "networks" not in COMPOSE["services"]["app"], "all services of the file share the default network"
    assert "CAIRN_HOST=0.0.0.0" in dict(final_stage())["ENV"]


def test_every_variable_is_one_that_the_product_reads() -> None:
    known = (REPO / "app/cairn/settings/environment.py").read_text()
    given = set(COMPOSE["services"]["app"]["environment"]) | set(re.findall(r"\b(CAIRN_\w+)=", "".join(of("ENV"))))
    for name in {name for name in given if not name.startswith("OTEL_")} - {"PGPASSWORD"}:  # the SDK reads those
        assert f'"{name}"' in known, name


# --- docker-compose.citus.yml ---------------------------------------------------------------------------------------

CITUS: dict[str, Any] = yaml.safe_load((REPO / "docker-compose.citus.yml").read_text())
NODES = ("database", "node1", "node2")


def test_the_cluster_is_complete_before_cairn_starts() -> None:
    services = CITUS["services"]
    assert set(services) == {*NODES, "cluster", "distribute", "app", "worker"}
    assert set(services["cluster"]["depends_on"]) == set(NODES)
    assert set(services["distribute"]["depends_on"]) == {"cluster"}
    assert services["distribute"]["command"] == ["cairn", "migrate", "--distribute"]
    for name in ("app", "worker"):
        assert services[name]["depends_on"]["distribute"]["condition"] == "service_completed_successfully"
        assert services[name]["extends"] == {"file": "docker-compose.yml", "service": name}


def test_only_nodes_and_cairn_are_where_everybody_is_trusted() -> None:
    assert CITUS["networks"] == {"nodes": {"internal": True}}
    for name in (*NODES, "cluster", "distribute"):
        assert CITUS["services"][name]["networks"] == ["nodes"]
        assert "ports" not in CITUS["services"][name]


def test_every_node_has_citus_pgvector_and_a_volume_of_its_own() -> None:
    volumes = [CITUS["services"][name]["volumes"][0].split(":")[0] for name in NODES]
    assert len(set(volumes)) == len(NODES)
    assert set(volumes) <= set(CITUS["volumes"])
    for name in NODES:
        assert "postgresql-17-pgvector" in CITUS["services"][name]["build"]["dockerfile_inline"]
        assert "shared_preload_libraries=citus" in CITUS["services"][name]["command"]
