"""Stores of obstore for URLs: made once for each bucket or host and its options, and shared."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from pqlab.errors import SourceError
from pqlab.io import failures, urls
from pqlab.io.cache import Cache
from pqlab.io.objects import Known, ObjectSource
from pqlab.io.source import Source
from pqlab.plan.policy import IOPolicy

_INSTALL = "Install it: pip install 'pqlab[remote]'"
_KEPT_STORES = 32  # with their connections, and the options that they were made with
_ENVIRONMENT = ("AWS_", "GOOGLE_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_NOT_CONFIGURATION = ("client_options", "credential_provider")

_stores: OrderedDict[Hashable, Any] = OrderedDict()
_lock = threading.Lock()


def open_remote(
    text: str,
    storage_options: Mapping[str, Any] | None,
    *,
    policy: IOPolicy | None = None,
    known: Known | None = None,
    hold: bool = True,
    cache: Cache = None,
) -> Source:
    """The source of a URL. `known`: what a listing said of it."""
    url = urls.parse(text)
    if url.scheme not in (*urls.STORES, *urls.WEB):
        from pqlab.io.filesystem import open_url

        return open_url(text, storage_options, policy=policy)
    store, path = store_of(url, text, storage_options, policy)
    return ObjectSource(
        store,
        path,
        name=url.shown,
        code=None if url.has_secrets or storage_options else repr(text),
        has_secrets=url.has_secrets,
        policy=policy,
        known=known,
        hold=hold,
        cache=cache,
    )


def store_of(
    url: urls.Url,
    text: str,
    storage_options: Mapping[str, Any] | None,
    policy: IOPolicy | None = None,
) -> tuple[Any, str]:
    """The store for a URL, and the path in it. Raises `SourceError` for options that it has not."""
    options = dict(storage_options or {})
    timeouts = policy or IOPolicy.remote()
    # A path that clients may write in several ways goes to the server as it was given.
    shared = url.scheme in urls.STORES or url.is_plain
    root, path = (url.root, url.path) if shared else (text, "")
    key = (
        root,
        tuple(sorted((name, _frozen(value)) for name, value in options.items())),
        tuple((name, os.environ[name]) for name in sorted(os.environ) if _counts(name)),
        (timeouts.connect_timeout_s, timeouts.stall_timeout_s, timeouts.deadline_s),
    )
    with _lock:
        store = _stores.pop(key, None) or _made(url, root, options, timeouts)
        _stores[key] = store
        if len(_stores) > _KEPT_STORES:
            _stores.popitem(last=False)
    return store, path


def _counts(name: str) -> bool:
    return name.upper().startswith(_ENVIRONMENT)


def _frozen(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple(sorted((key, _frozen(item)) for key, item in value.items()))
    return value if isinstance(value, str | bytes | int | float | None) else id(value)


def _made(url: urls.Url, root: str, options: dict[str, Any], policy: IOPolicy) -> Any:
    try:
        from obstore import store
    except ImportError:
        raise SourceError(
            "remote files are read through obstore, which is not installed", hint=_INSTALL
        ) from None
    own = {name: options.pop(name) for name in _NOT_CONFIGURATION if name in options}
    client: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=policy.connect_timeout_s),
        "read_timeout": timedelta(seconds=policy.stall_timeout_s),
        "timeout": timedelta(seconds=max(policy.deadline_s, policy.stall_timeout_s)),
    }
    if _is_unencrypted(url, options):
        client["allow_http"] = True
    client.update(own.get("client_options") or {})
    failure = None
    try:
        if url.scheme in urls.WEB:
            made: Any = store.HTTPStore.from_url(
                root, client_options=_web_options(client, options), retry_config={"max_retries": 0}
            )
        else:
            provider = own.get("credential_provider") or _profile(url, options)
            keywords: dict[str, Any] = {"config": options or None, "client_options": client}
            if provider is not None:
                keywords["credential_provider"] = provider
            made = store.from_url(root, retry_config={"max_retries": 0}, **keywords)
    except Exception as error:  # noqa: BLE001  # of any class
        failure = _refusal(error)
    if failure is not None:
        raise SourceError(failure, hint="Check storage_options", file=url.shown)
    return made


def _refusal(error: Exception) -> str:
    """Why a store cannot be made: obstore's sentence, where it names a key and not its value."""
    words = str(error).split("\n")[0]
    if type(error).__name__ == "UnknownConfigurationKeyError":
        return words.removeprefix("Configuration key: ").join(("unknown option ", ""))
    if words.endswith("must be specified"):
        return words
    return f"the store cannot be reached with these options ({failures.reason(error)})"


def _web_options(client: dict[str, Any], options: dict[str, Any]) -> Any:
    """Options of web servers are those of the client; `headers` is what most call them."""
    headers = options.pop("headers", None)
    return {**client, **options, **({"default_headers": headers} if headers else {})}


def _is_unencrypted(url: urls.Url, options: Mapping[str, Any]) -> bool:
    endpoints: Iterable[Any] = (
        *(value for name, value in options.items() if "endpoint" in name.lower()),
        *(value for name, value in os.environ.items() if _counts(name) and "ENDPOINT" in name),
    )
    return url.scheme == "http" or any(str(e).lower().startswith("http://") for e in endpoints)


def _profile(url: urls.Url, options: Mapping[str, Any]) -> Any:
    """The credentials of the AWS configuration files, if they are what there is and boto3 is here.

    obstore knows the other places.
    """
    given = {name.lower().removeprefix("aws_") for name in options}
    if url.scheme not in ("s3", "s3a") or given & {"access_key_id", "skip_signature"}:
        return None
    folder = Path("~/.aws").expanduser()
    has_files = (folder / "credentials").exists() or (folder / "config").exists()
    if "AWS_ACCESS_KEY_ID" in os.environ or not ("AWS_PROFILE" in os.environ or has_files):
        return None
    try:
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        return None
    session = boto3.session.Session()
    return Boto3CredentialProvider(session) if session.get_credentials() else None
