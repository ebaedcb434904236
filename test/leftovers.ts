// Runs around each test file. The files of a worker share one process and one set of modules: what a file leaves behind
// is part of the conditions of the next. A file that leaves something fails, with what it left.
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, vi } from 'vitest';

/** Servers and sockets close a while after the test asked them to; so long, in milliseconds. */
const patience = 10_000;
/** What keeps a process alive and a test opens. Not what Vitest itself uses: pipes, and timers of its calls. */
const resources = ['TCPServerWrap', 'TCPSocketWrap', 'UDPWrap', 'ProcessWrap', 'MessagePort', 'FSEventWrap', 'StatWatcher'];

const descriptors = Object.entries(Object.getOwnPropertyDescriptors(globalThis));
const lazy = new Set(descriptors.filter(([, { get }]) => get !== undefined).map(([name]) => name));

/** These listeners run when the process ends, and pino's log files come and go with the garbage collector. */
const atTheEnd = ['exit', 'beforeExit'];

type Facts = ReadonlyMap<string, unknown>;

function ofTheProcess(): Facts {
  const facts = new Map<string, unknown>();
  for (const [name, emitter] of Object.entries({ process, stdout: process.stdout, stderr: process.stderr })) {
    for (const event of emitter
      .eventNames()
      .map(String)
      .filter((each) => !atTheEnd.includes(each)))
      facts.set(`listeners of "${event}" of ${name}`, emitter.listenerCount(event));
  }
  for (const [name, value] of Object.entries(process.env)) facts.set(`environment variable ${name}`, value);
  facts.set('exit code', process.exitCode);
  facts.set('working directory', process.cwd());
  facts.set('umask', process.umask());
  facts.set('process.stdout.write', process.stdout.write);
  facts.set('process.stderr.write', process.stderr.write);
  return facts;
}

/** By name. Node defines many by getters that put the value in their place when it is read first: these are equal. */
function globals(): Facts {
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(globalThis));
  return new Map(
    // Those with underscores are Vitest's.
    descriptors
      .filter(([name]) => !name.startsWith('__'))
      .map(([name, { value }]) => [`global ${name}`, lazy.has(name) ? 'lazy' : value]),
  );
}

function openResources(): Facts {
  const open = process.getActiveResourcesInfo();
  return new Map(resources.map((name) => [`open ${name}`, open.filter((each) => each === name).length]));
}

/** One line for each fact that is another than before; of what is counted, a smaller count is none. */
function changes(before: Facts, now: Facts): string[] {
  const shown = (value: unknown): string => (typeof value === 'function' ? 'another function' : String(value));
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((name) => {
    const [was, is] = [before.get(name), now.get(name)];
    const isLess = typeof is === 'number' && typeof was === 'number' && is < was;
    return Object.is(was, is) || isLess ? [] : [`${name}: ${shown(is)}, before ${shown(was)}`];
  });
}

const before = { process: ofTheProcess(), globals: globals(), resources: openResources() };

// Registered first, this runs last: after all that the file itself cleans up.
afterAll(async () => {
  const clock = vi.isFakeTimers() ? ['fake timers'] : [];
  vi.useRealTimers();
  let open = changes(before.resources, openResources());
  for (const until = performance.now() + patience; open.length > 0 && performance.now() < until; ) {
    await setTimeout(20);
    open = changes(before.resources, openResources());
  }
  const left = [...clock, ...changes(before.process, ofTheProcess()), ...changes(before.globals, globals()), ...open];
  expect(left, 'left behind for the files that follow in this process').toEqual([]);
}, patience + 10_000);
