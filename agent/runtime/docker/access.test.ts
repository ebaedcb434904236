import { PassThrough, Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAccess } from './access.ts';
import { createEarlyOutputs, type EarlyOutputs } from './early-output.ts';
import type { Engine } from './engine.ts';
import type { Inventory } from './inventory.ts';
import type { Inspection } from './observe.ts';

// An attach to the engine's containers; the engine in memory.
const frame = (text: string) => Buffer.concat([Buffer.from([1, 0, 0, 0, 0, 0, 0, text.length]), Buffer.from(text)]);
const never = new AbortController().signal;
const all = { stdin: true, stdout: true, stderr: true };
const startsNow = async () => ({ startedAt: new Date() });
let running: boolean;
let stdinOnce: boolean;
let asked: string[];
let output: PassThrough[];
let early: EarlyOutputs;

const engine = {
  async hijack({ path, query }: { path: string; query: { stdout?: number } }) {
    asked.push(path.split('/').at(-1) ?? '');
    const socket = new PassThrough();
    if (query.stdout === 1) output.push(socket);
    return socket;
  },
  async stream({ path }: { path: string }) {
    asked.push(path.split('/').at(-1) ?? '');
    return Readable.from(path.endsWith('/logs') ? [frame('all of it\n')] : []);
  },
} as unknown as Engine;

const inventory = {
  inspect: async (id: string) => ({
    Id: id,
    Config: { Labels: {}, Tty: false, OpenStdin: true, StdinOnce: stdinOnce },
    State: { Running: running },
  }),
} as unknown as Inventory & { inspect(): Promise<Inspection> };

async function attach(options: { stdin: boolean } = all): Promise<string> {
  const session = await createAccess(engine, inventory, () => true, early).attach('c', { ...all, ...options }, never);
  let text = '';
  for await (const { data } of session.output()) text += Buffer.from(data).toString();
  return text;
}

/** The container, and all that is read from it, comes to its end. */
function end(text: string): void {
  running = false;
  for (const socket of output) socket.end(frame(text));
}

beforeEach(() => {
  [running, stdinOnce, asked, output] = [true, true, [], []];
  early = createEarlyOutputs(engine);
});

describe('an attach with input to a container that takes it once', () => {
  it('begins with what was written before, when it is the first', async () => {
    await early.whileStarting('c', startsNow);
    output[0]!.write(frame('one\n'));
    const session = attach();
    await expect.poll(() => asked).toEqual(['attach', 'attach']);
    end('two\n');
    expect(await session).toBe('one\ntwo\n');
  });

  it('has all of one that has ended, when it is the first, and is refused after that', async () => {
    await early.whileStarting('c', startsNow);
    end('lost\n');
    await expect.poll(() => output[0]!.destroyed).toBe(true);
    expect(await attach()).toBe('all of it\n');
    await expect(attach()).rejects.toMatchObject({ code: 'conflict', message: 'attach to container c: it is not running' });
  });

  it('has what comes from now on when another was first', async () => {
    await early.whileStarting('c', startsNow);
    early.take('c')?.resume();
    const session = attach();
    await expect.poll(() => output.length).toBe(2);
    end('later\n');
    expect(await session).toBe('later\n');
  });
});

describe('any other attach', () => {
  it.each([
    ['without input', { once: true, options: { stdin: false } }],
    ['to a container that takes input of many', { once: false, options: { stdin: true } }],
  ])('%s has what comes from now on, and leaves the rest to the first', async (_, { once, options }) => {
    stdinOnce = once;
    await early.whileStarting('c', startsNow);
    output[0]!.write(frame('before\n'));
    const session = attach(options);
    await expect.poll(() => output.length).toBe(2);
    expect(early.isUnseen('c')).toBe(true);
    end('later\n');
    expect(await session).toBe('later\n');
  });

  it('is refused when the container has ended, before the engine is asked', async () => {
    running = false;
    await expect(attach()).rejects.toMatchObject({ code: 'conflict' });
    await expect(attach({ stdin: false })).rejects.toMatchObject({ code: 'conflict' });
    expect(asked).toEqual([]);
  });
});
