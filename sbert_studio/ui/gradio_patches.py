"""Patches of Gradio: modified page scripts, served instead of the installed files, and a faster import."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from importlib.resources import files
from types import ModuleType

from starlette.responses import Response
from starlette.routing import Route


@dataclass(frozen=True)
class Patch:
    prefix: str  # the beginning of the file name; the rest is a hash of the build
    old: str  # the text to replace, which must occur exactly once
    new: str  # the replacement


_AGAIN = "{type:`fn`,fn_index:r.id,target_id:l,event_data:e.event_data??null}"

PATCHES = (
    # When an event ends, Gradio marks its inputs as those of a closed stream, even if the event did not stream. It then updates each of
    # them (about 30 after a few clicks) at every step of every later event, and searches the component tree for each update: a third of the
    # page's CPU time. Mark them only for events that stream.
    Patch("Blocks-", "s.stage===`complete`){n=`closed`,", "s.stage===`complete`){r.connection_type===`stream`&&(n=`closed`),"),
    # Gradio scans all events for each component when the page opens: 15% of the load time. Index the events by component once.
    Patch(
        "core-",
        "let n=t.filter(t=>t.targets.find(([t])=>t===e.id))"
        ".map(t=>{let n=t.targets.find(([t])=>t===e.id);return n?n[1]:null}).filter(Boolean);",
        "if(this.ofEvents!==t){this.ofEvents=t,this.names=new Map;for(let{targets:e}of t){let t=new Set;for(let[n,r]of e)"
        "t.has(n)||(t.add(n),r&&(this.names.get(n)||this.names.set(n,[]).get(n)).push(r))}}let n=this.names.get(e.id)||[];",
    ),
    # Gradio searches the whole component tree for each component that an event reads or updates: a sixth of the page's CPU time. Remember
    # where each was found, and search again only if it is no longer there.
    Patch(
        "core-",
        "function Z(e,t){if(e.id===t)return e;if(e.children)for(let n of e.children){let e=Z(n,t);if(e)return e}return null}",
        "function Z(e,t){let n=t=>t?.reduce((e,t)=>e?.children?.[t],e),r=n(Z.paths?.get(t));if(r?.id===t)return r;Z.paths=new Map;"
        "let i=(e,t)=>{Z.paths.has(e.id)||Z.paths.set(e.id,t),e.children?.forEach((e,n)=>i(e,[...t,n]))};"
        "return i(e,[]),n(Z.paths.get(t))||null}",
    ),
    # Gradio looks up a component's node although the component itself provides its state.
    Patch(
        "core-",
        "let t=this.#s.get(e),n=Z(this.root,e);return!t&&!n?null:t?await t():",
        "let t=this.#s.get(e),n=t?null:Z(this.root,e);return!t&&!n?null:t?await t():",
    ),
    # Gradio copies the values of a component and its children before it shows that an event is pending, which changes none of them.
    Patch(
        "core-",
        "r&&!(`value`in t)&&(await this.#m(e,r),await this.#h(r))",
        "r&&!(`value`in t||`loading_status`in t)&&(await this.#m(e,r),await this.#h(r))",
    ),
    # The components of a tab or accordion are drawn when it is first opened. A frame later, Gradio sets all their properties again, values
    # included, to what they were before: what was typed meanwhile is lost. Leave the values of components that are there alone.
    Patch(
        "core-",
        "await new Promise(e=>requestAnimationFrame(e));for(let e of n)this.#p(e)}",
        "await new Promise(e=>requestAnimationFrame(e));for(let e of n)this.#p(e,this.#c.has(e.id))}",
    ),
    Patch("core-", "}#p(e){let t={};for(let n in e.props.shared_props)", "}#p(e,own){let t={};for(let n in e.props.shared_props)"),
    Patch(
        "core-",
        "for(let n in e.props.props){if(n===`id`)continue;let r=e.props.props[n];r!==void 0&&(t[n]=r)}if(",
        "for(let n in e.props.props){if(n===`id`||own&&Te.includes(n))continue;let r=e.props.props[n];r!==void 0&&(t[n]=r)}if(",
    ),
    # What was set before a component was drawn is applied a moment after it was drawn, and replaces what was set in between.
    Patch(
        "core-",
        "let r=this.#l.get(e);r&&(this.#l.delete(e),x().then(()=>{let t=this.#c.get(e);t&&t(r)}))",
        "this.#l.has(e)&&x().then(()=>{let t=this.#c.get(e),n=this.#l.get(e);t&&n&&(this.#l.delete(e),t(n))})",
    ),
    Patch(
        "core-",
        "r&&ke(r,t),a)a&&(a(t),r?.type===`tabitem`&&this.#g(e,r));else{",
        "r&&ke(r,t),a){let n=this.#l.get(e);if(n)for(let e in t)delete n[e];a(t),r?.type===`tabitem`&&this.#g(e,r)}else{",
    ),
    # A value that was set while that of the component was being copied is not replaced by the copy.
    Patch(
        "core-",
        "let r=await n();if(!r)return;let i={};for(let e of Te)e in r&&(i[e]=r[e]);ke(t,i)",
        "let o={...t.props.props},r=await n();if(!r)return;let i={};for(let e of Te)e in r&&t.props.props[e]===o[e]&&(i[e]=r[e]);ke(t,i)",
    ),
    # Gradio copies the state of a component for every event that it triggers, even if the event sets none of its properties.
    Patch("Blocks-", "async set_event_args(e,t){let n={},", "async set_event_args(e,t){if(!Object.keys(t).length)return()=>{};let n={},"),
    # A component's change calls handlers one after the other, and one that is still running is called again once it has ended. Gradio then
    # repeats the change itself, with all its handlers. If two changes overlap, each repeats the other, endlessly: the page is never idle
    # again. Repeat only the handler that was put off, also after an error.
    Patch(
        "Blocks-",
        "this.queue.has(r.id)&&(this.queue.delete(r.id),this.dispatch(e));return}",
        f"this.queue.delete(r.id)&&this.dispatch({_AGAIN});return}}",
    ),
    Patch(
        "Blocks-",
        "this.queue.has(r.id)&&(this.queue.delete(r.id),this.dispatch(e))}}catch{",
        f"this.queue.delete(r.id)&&this.dispatch({_AGAIN})}}}}catch{{",
    ),
    Patch(
        "Blocks-",
        "c&&this.clear_submission(r.id,c),o.forEach(",
        f"c&&this.clear_submission(r.id,c),this.queue.delete(r.id)&&this.dispatch({_AGAIN}),o.forEach(",
    ),
    # The same for an event that is handled in the browser alone.
    Patch(
        "Blocks-",
        "target_id:l})});else{let n=null;",
        f"target_id:l}})}}),this.queue.delete(r.id)&&this.dispatch({_AGAIN});else{{let n=null;",
    ),
    # An event counts as pending only once the values of its inputs have been gathered and it has been sent. A second click before that, or
    # a second tick of a timer while the browser is busy, is then sent as well, and the answers may arrive in the other order. Check again
    # before it is sent.
    Patch(
        "Blocks-",
        "let t=await r.run(this.client,n,e.event_data,l);if(t.type!==`submit`)",
        "this.starting??=new Set;let u=Ze(r.trigger_modes,this.submissions.has(r.id)||this.starting.has(r.id)),t;if(u!==`run`){"
        "u===`defer`&&this.queue.add(r.id),i.forEach(e=>e());continue}this.starting.add(r.id);"
        "try{t=await r.run(this.client,n,e.event_data,l)}finally{this.starting.delete(r.id)}if(t.type!==`submit`)",
    ),
    # A choice from a list is sent twice: by the click, and as the box loses the focus by it. Send it once.
    Patch(
        "Index-",
        "on_change:()=>a.dispatch(`change`),on_input:()=>a.dispatch(`input`),on_select:e=>",
        "on_change:()=>a.dispatch(`change`),on_input:(e=>()=>{e||(e=!0,queueMicrotask(()=>{e=!1,a.dispatch(`input`)}))})(!1),on_select:e=>",
    ),
    # While an event is pending, Gradio counts its seconds in every frame, although it shows tenths: the browser draws 60 times a second for
    # as long as a map takes, which is two thirds of the page's CPU time meanwhile.
    Patch(
        "statustracker-",
        "function ze(){me(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()})}",
        "function ze(){clearTimeout(ze.timer),ze.timer=setTimeout(()=>{F(Pe,(performance.now()-w(de))/1e3),W&&ze()},100)}",
    ),
)
_HEADERS = {"cache-control": "max-age=3600"}  # short, because a later version may patch more under the same file name


def patched_scripts() -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of each patched script. Other versions of Gradio may match no patch and yield nothing."""
    for script in files("gradio").joinpath("templates", "frontend", "assets").iterdir():
        patches = [patch for patch in PATCHES if script.name.startswith(patch.prefix) and script.name.endswith(".js")]
        if not patches:
            continue
        installed = text = script.read_text(encoding="utf-8")
        for patch in patches:
            if text.count(patch.old) == 1:
                text = text.replace(patch.old, patch.new)
        if text != installed:
            yield script.name, text


def patched_routes() -> list[Route]:
    def route(name: str, text: str) -> Route:
        return Route(f"/assets/{name}", lambda _request: Response(text, media_type="text/javascript", headers=_HEADERS))

    return [route(name, text) for name, text in patched_scripts()]


def disable_hot_reload() -> None:
    """Prevent Gradio from watching the files of a Space, which fails with a traceback where the package ``spaces`` is missing."""
    from gradio import http_server  # not above: skip_stubs() comes before the first import of gradio

    http_server.get_space = lambda: None


_STUB_MODULE, _STUB_WRITER = "gradio.component_meta", "create_or_modify_pyi"


class SkipStubs:
    """Import finder that prevents Gradio from writing ``.pyi`` files for editors, which takes 0.8 of the 2 seconds of its import.

    A release of Gradio without this function is imported unchanged.
    """

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _STUB_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        loader = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def run(module: ModuleType) -> None:
                execute(module)
                if callable(getattr(module, _STUB_WRITER, None)):
                    setattr(module, _STUB_WRITER, _write_nothing)

            loader.exec_module = run  # type: ignore[method-assign]
        return spec


def _write_nothing(*_args: object, **_named: object) -> None:
    pass


def skip_stubs() -> None:
    if _STUB_MODULE not in sys.modules and not any(isinstance(finder, SkipStubs) for finder in sys.meta_path):
        sys.meta_path.insert(0, SkipStubs())
