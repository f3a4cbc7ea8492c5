// One stream of the server brings a page what its events give. Gradio ends it when nothing is under way; a page that asks
// again in that very moment would then wait for a stream that nobody opens, and its click would come to nothing. So an end
// that comes while something is under way opens the next stream, and Gradio hears one that goes on.
(() => {
  "use strict";
  const plain = window.fetch.bind(window);
  const underWay = new Map(); // from the event to the long work that it is part of, if any
  const ended = new Set(); // before the answer that named them
  let asking = 0;
  let session = ""; // names this page to the server, which alone it tells
  window.SB_SESSION = () => session;

  // On beforeunload Gradio closes its stream, and the server discards the session's messages. An answer that still arrives would open
  // another stream and get a 404. So wait: if the page unloads, nothing is opened; if it stays, the stream opens after the delay.
  const UNLOAD_DELAY = 1000;  // milliseconds
  let unloadedAt = -UNLOAD_DELAY;
  window.addEventListener("beforeunload", () => { unloadedAt = performance.now(); });
  function waitForUnload() {
    const rest = unloadedAt + UNLOAD_DELAY - performance.now();
    return rest > 0 ? new Promise((resolve) => { setTimeout(resolve, rest); }) : null;
  }

  // <body aria-busy> while the page waits for an answer. It stays for a moment after the last one, and until the browser has nothing
  // else to do, since an answer often leads to the next request and is still being drawn; screen readers and tests can wait for it.
  const SETTLES = 100, BUSY_BROWSER = 1000; // milliseconds
  const whenIdle = window.requestIdleCallback?.bind(window) ?? ((call) => setTimeout(call));
  let settling, changes = 0;
  function markBusy() {
    const change = changes += 1;
    const settle = () => { if (change === changes) document.body?.setAttribute("aria-busy", "false"); };
    clearTimeout(settling);
    if (asking || underWay.size) document.body?.setAttribute("aria-busy", "true");
    else settling = setTimeout(() => whenIdle(settle, { timeout: BUSY_BROWSER }), SETTLES);
  }

  // The Cancel button of a work shows while any of its events goes on.
  function begin(id, work) {
    underWay.set(id, work);
    if (work) window.SB.busy(`${work}-cancel`, id, true);
  }
  function end(id) {
    const work = underWay.get(id);
    if (work) window.SB.busy(`${work}-cancel`, id, false);
    return underWay.delete(id);
  }

  // After the stream has failed: no pending event will be answered.
  function endAll() {
    [...underWay.keys()].forEach(end);
    markBusy();
  }

  async function join(input, options) {
    const asked = JSON.parse(options.body);
    session = asked.session_hash || session;
    asking += 1;
    markBusy();
    try {
      const answer = await plain(input, options);
      const id = answer.ok ? (await answer.clone().json()).event_id : null;
      if (id && !ended.delete(id)) begin(id, window.SB_PAGE?.works[asked.fn_index]);
      return answer;
    } finally {
      asking -= 1;
      if (!asking) ended.clear();
      markBusy();
    }
  }

  // Whether to pass a message on: all but an end that comes too early.
  function passes(message) {
    if (message.msg === "close_stream") return !asking && !underWay.size;
    if (message.msg === "process_completed") {
      if (!end(message.event_id)) ended.add(message.event_id);
      markBusy();
    }
    return true;
  }

  async function* blocks(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      yield* parts;
    }
  }

  async function follow(source, answer, controller) {
    const encoder = new TextEncoder();
    let goesOn = false;
    for await (const block of blocks(answer)) {
      const message = JSON.parse(block.slice(block.indexOf(":") + 1));
      goesOn = !passes(message);
      source.ended = message.msg === "close_stream" && !goesOn;
      if (!goesOn) controller.enqueue(encoder.encode(`${block}\n\n`));
    }
    if (source.ended) return controller.close();
    if (!goesOn) throw new Error("ended"); // too early: by itself, Gradio would wait for ever
    const next = await source.open();
    if (!next.ok) throw new Error(String(next.status));
    return follow(source, next, controller);
  }

  // Gradio cuts a stream off as soon as it reads its end. A server that is still about to end it takes that for a page that was left,
  // and forgets what the page has asked since: its answers would never come. So the end of such a stream is left to the server.
  async function stream(request) {
    const own = new AbortController();
    const source = {
      ended: false,
      async open() {
        await waitForUnload();
        return plain(new Request(request.clone(), { signal: own.signal }));
      },
    };
    const onAbort = () => { if (!source.ended) own.abort(); };
    request.signal.addEventListener("abort", onAbort);
    if (request.signal.aborted) onAbort();
    const answer = await source.open().catch((error) => {
      endAll();
      throw error;
    });
    if (!answer.ok) {
      endAll();
      return answer;
    }
    const body = new ReadableStream({
      start(controller) {
        follow(source, answer, controller).catch((error) => {
          if (source.ended) return; // Gradio has left it, and what was asked since comes by the next stream
          endAll();
          controller.error(error);
        });
      },
    });
    return new Response(body, { status: answer.status, headers: { "content-type": "text/event-stream" } });
  }

  window.fetch = (input, options) => {
    const path = new URL(input.url ?? input, location.href).pathname;
    if (path.endsWith("/queue/join")) return join(input, options);
    if (path.endsWith("/queue/data")) return stream(new Request(input, options));
    return plain(input, options);
  };
})();
