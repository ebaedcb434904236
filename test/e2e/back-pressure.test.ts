import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, connect, followLogs, loadContext } from '../../client/index.ts';
import { eventually } from './installation.ts';
import { createPodHouse, type PodHouse, podOf, script } from './pods-fixture.ts';

// A client that stops reading from a container, or writes to one that does not read, must not grow the agent: each end
// is held back through every buffer in between. What is offered here is without end, or 20 MB and more where a log or a
// file is read.

const line = 'x=$(head -c 1000 /dev/zero | tr "\\0" x)';
const key = { namespace: 'default', name: 'flood' };
/**
 * Of all streams of one test together. What is in the agent's hands are windows of calls and of sockets,
 * a few hundred KiB each, and garbage.
 */
const growthMB = 40;
const chunk = Buffer.alloc(256 * 1024);

let house: PodHouse;
let client: Client;
let atStart: number;

beforeAll(async () => {
  house = await createPodHouse('pressure');
  await house.apply(
    podOf('flood', [
      script(
        'head -c 40000000 /dev/zero >/big; nc -ll -p 9001 -e cat /dev/zero & nc -ll -p 9002 -e sleep 1000 & touch /ready; exec sleep 1000',
        {
          name: 'app',
        },
      ),
      script('read x; cat /dev/zero; exec sleep 1000', { name: 'writes', stdin: true }),
      script('exec sleep 1000', { name: 'deaf', stdin: true }),
      script(`${line}; yes $x | head -c 20000000; exec sleep 1000`, { name: 'wrote' }),
      script(`${line}; until [ -e /talk ]; do sleep 0.1; done; while [ -e /talk ]; do echo $x; done; exec sleep 1000`, {
        name: 'talks',
      }),
      // A file system that only the container sees: its own tar reads and writes there.
      script('mkdir /own && mount -t tmpfs -o size=200m own /own && touch /ready; exec sleep 1000', {
        name: 'own',
        securityContext: { privileged: true },
        readinessProbe: { exec: { command: ['test', '-e', '/ready'] }, periodSeconds: 1 },
      }),
    ]),
  );
  await house.running('flood');
  await eventually('the file is there', () => house.sh('flood', 'test -e /ready && echo yes', 'app').catch(() => undefined));
  const { options } = await loadContext(undefined, house.berth.config);
  client = connect({ ...options, userAgent: 'berth-e2e' });
});
afterAll(async () => {
  client?.close();
  await house?.berth.purge();
});
beforeEach(() => {
  atStart = agentMB();
});

/** The agent's own memory, without what it shares with files, in megabytes. */
function agentMB(): number {
  const status = readFileSync(`/proc/${house.berth.pid('agent')}/status`, 'utf8');
  return (Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1]) * 1024) / 1e6;
}

/** Waits until counts stand still for a while, or the agent has grown by too much, which fails the test. */
async function untilStill(counts: () => Promise<readonly number[]> | readonly number[]): Promise<readonly number[]> {
  let last: readonly number[] = [];
  let still = 0;
  let grown = 0;
  await eventually('the streams stand still', async () => {
    grown = Math.max(grown, agentMB() - atStart);
    if (grown >= growthMB) return true;
    const now = await counts();
    still = String(now) === String(last) ? still + 1 : 0;
    last = now;
    if (still >= 3) return true;
    await delay(500);
    return undefined;
  });
  expect(grown).toBeLessThan(growthMB);
  return last;
}

/** What the processes called `cat` in the container have written so far. */
async function written(container: string): Promise<number> {
  const sum =
    's=0; for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = cat ] && w=$(grep wchar $p/io | cut -d" " -f2) && s=$((s + w)); done; echo $s';
  return Number(await house.sh('flood', sum, container));
}

/** Reads the first piece and then stops. */
async function readOnce<T>(output: AsyncIterable<T>): Promise<AsyncIterator<T>> {
  const reading = output[Symbol.asyncIterator]();
  expect((await reading.next()).done).toBe(false);
  return reading;
}

/** Goes on reading until so much has come. */
async function readOn(reading: AsyncIterator<Uint8Array | { readonly data: Uint8Array }>, bytes: number): Promise<number> {
  let seen = 0;
  while (seen < bytes) {
    const { value, done } = await reading.next();
    if (done) break;
    seen += value instanceof Uint8Array ? value.length : value.data.length;
  }
  return seen;
}

/** Writes as fast as it is taken, and counts; ends with the stream. */
function pump(write: (data: Uint8Array) => Promise<void>): { bytes: number } {
  const count = { bytes: 0 };
  void (async () => {
    for (;;) {
      await write(chunk);
      count.bytes += chunk.length;
    }
  })().catch(() => undefined);
  return count;
}

const limit = () => ({ signal: AbortSignal.timeout(120_000) });
const most = 20e6;

describe('a reader that stops', () => {
  it('applies back-pressure to exec, attach and port-forward at the same time, without losing output', async () => {
    const exec = client.pods.exec(key, { container: 'app', command: ['cat', '/dev/zero'], stdout: true, stderr: true }, limit());
    const attach = client.pods.attach(key, { container: 'writes', stdin: true, stdout: true, stderr: true }, limit());
    const forward = client.pods.portForward(key, 9001, limit());
    try {
      await attach.write(Buffer.from('go\n'));
      const readers = [await readOnce(exec.output()), await readOnce(attach.output()), await readOnce(forward.output())];
      const stopped = await untilStill(async () => [await written('app'), await written('writes')]);
      for (const bytes of stopped) expect(bytes).toBeLessThan(most);
      for (const reading of readers) expect(await readOn(reading, most)).toBeGreaterThanOrEqual(most);
    } finally {
      exec.close();
      attach.close();
      forward.close();
      // Their output, which is without end, would go into the log beside all other tests.
      for (const container of ['app', 'writes']) await house.sh('flood', 'killall -9 cat || true', container);
    }
  });

  it('applies back-pressure to logs and a file download, and delivers the rest when the client resumes', async () => {
    await house.sh('flood', 'touch /talk', 'talks');
    const logs = await readOnce(client.pods.logs(key, { container: 'wrote' }, limit()));
    // Of a log that is written faster than it is read the engine deletes what is old: `followLogs` goes on behind that.
    const follow = await readOnce(followLogs(client.pods, key, { container: 'talks' }, limit()));
    const file = await readOnce(client.pods.readFiles(key, { container: 'app', path: '/big' }, limit()));
    try {
      await untilStill(() => [Math.round(agentMB() / 4)]);
      const got = await Promise.all([readOn(logs, 10e6), readOn(follow, 5e6), readOn(file, 35e6)]);
      for (const bytes of got) expect(bytes).toBeGreaterThanOrEqual(5e6);
      expect(got[2]).toBeGreaterThanOrEqual(35e6);
    } finally {
      await Promise.all([logs, follow, file].map((reading) => reading.return?.()));
      await house.sh('flood', 'rm /talk', 'talks');
    }
  });
});

describe('a container that does not read', () => {
  it('applies back-pressure to writers of exec, attach and port-forward at the same time', async () => {
    const exec = client.pods.exec(key, { container: 'app', command: ['sleep', '1000'], stdin: true, stdout: true }, limit());
    const attach = client.pods.attach(key, { container: 'deaf', stdin: true, stdout: true }, limit());
    const forward = client.pods.portForward(key, 9002, limit());
    try {
      const pumps = [pump((data) => exec.write(data)), pump((data) => attach.write(data)), pump((data) => forward.write(data))];
      const stopped = await untilStill(() => pumps.map(({ bytes }) => bytes));
      for (const bytes of stopped) expect(bytes).toBeLessThan(most);
    } finally {
      exec.close();
      attach.close();
      forward.close();
    }
  });

  it.each([
    { to: 'its disk', container: 'app', path: '/tmp', bytes: 80e6 },
    { to: 'memory that only the container sees', container: 'own', path: '/own', bytes: 80e6 },
  ])('gets files at the pace of $to: $bytes bytes pass through the agent without staying', async ({ container, path, bytes }) => {
    let highest = 0;
    await client.pods.writeFiles(
      key,
      { container, path },
      archiveOf(bytes, () => (highest = Math.max(highest, agentMB()))),
      limit(),
    );
    expect(highest - atStart).toBeLessThan(growthMB);
    expect(await house.sh('flood', `wc -c < ${path}/copied`, container)).toBe(`${bytes}\n`);
  });
});

describe('a copy that goes through the container', () => {
  it('holds back its tar when its reader stops, and gives the rest when it goes on', async () => {
    await house.sh('flood', 'head -c 80000000 /dev/zero > /own/copied', 'own');
    const file = await readOnce(client.pods.readFiles(key, { container: 'own', path: '/own/copied' }, limit()));
    try {
      await untilStill(() => [Math.round(agentMB() / 4)]);
      // To its end, behind which the exit code of tar counts; the first piece has been read.
      expect(await readOn(file, Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(79e6);
    } finally {
      await file.return?.();
    }
  });

  it('leaves no tar behind when its reader or writer goes away', async () => {
    const tars = () => house.sh('flood', 'pidof tar || true', 'own');
    await house.sh('flood', 'head -c 80000000 /dev/zero > /own/copied', 'own');
    const file = await readOnce(client.pods.readFiles(key, { container: 'own', path: '/own/copied' }, limit()));
    expect(await tars()).toMatch(/\d/);
    await file.return?.();
    await eventually('the reading tar is gone', async () => (await tars()).trim() === '' || undefined);
    const broken = new AbortController();
    let sent: () => void = () => {};
    const underWay = new Promise<void>((resolve) => {
      sent = resolve;
    });
    async function* stuck(): AsyncGenerator<Uint8Array> {
      yield Buffer.concat([header('half', 1e6), Buffer.alloc(500_000)]);
      sent();
      await new Promise((_, reject) => broken.signal.addEventListener('abort', () => reject(new Error('broken off'))));
    }
    const writing = client.pods.writeFiles(key, { container: 'own', path: '/own' }, stuck(), { signal: broken.signal });
    writing.catch(() => {});
    await underWay;
    await eventually('the writing tar is there', async () => (await tars()).trim() !== '' || undefined);
    broken.abort();
    await expect(writing).rejects.toThrow();
    await eventually('the writing tar is gone', async () => (await tars()).trim() === '' || undefined);
  });

  it('ends a tar that hangs, which neither reads nor writes, when its reader goes away', async () => {
    const hung = async () => (await house.sh('flood', 'kill -0 "$(cat /hung)" && echo yes || true', 'own')).trim();
    const hang = "printf '#!/bin/sh\\necho $$ > /hung\\nwhile :; do sleep 1; done\\n' > /tmp/hang && chmod +x /tmp/hang";
    await house.sh('flood', `${hang} && mv /tmp/hang /bin/tar`, 'own');
    const gone = new AbortController();
    const looking = client.pods.stat(key, { container: 'own', path: '/own/copied' }, { signal: gone.signal });
    looking.catch(() => {});
    try {
      await eventually('tar hangs', async () => (await hung()) === 'yes' || undefined);
      gone.abort();
      await expect(looking).rejects.toThrow();
      await eventually('the hanging tar is gone', async () => (await hung()) === '' || undefined);
    } finally {
      await house.sh('flood', 'ln -sf busybox /bin/tar', 'own');
    }
  });
});

/** One large file, and a look before each piece. */
async function* archiveOf(bytes: number, look: () => void): AsyncGenerator<Uint8Array> {
  yield header('copied', bytes);
  for (let left = bytes; left > 0; left -= chunk.length) {
    look();
    yield chunk.subarray(0, Math.min(left, chunk.length));
  }
  yield Buffer.alloc(1024 + ((512 - (bytes % 512)) % 512));
}

/** One file's header in a tar archive. */
function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
