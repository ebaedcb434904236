import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, image, type PodHouse } from './pods-fixture.ts';
import { openTerminal, type Terminal } from './pty.ts';

let house: PodHouse;
let terminal: Terminal;

const container = (name: string, script: string, more: object = {}) => ({
  name,
  image,
  imagePullPolicy: 'Never',
  command: ['sh', '-c', script],
  ...more,
});
const pod = (name: string, ...containers: object[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 0, restartPolicy: 'Never', containers },
});
const reader = 'while read line; do echo "got $line"; done; echo the end';

beforeAll(async () => {
  house = await createPodHouse('terminals');
  await house.apply(
    pod('two', container('app', 'sleep 10000'), container('side', 'sleep 10000')),
    pod('shell', container('sh', 'exec sh', { stdin: true, tty: true })),
    pod('once', container('cat', reader, { stdin: true, stdinOnce: true })),
    pod('many', container('cat', reader, { stdin: true })),
    pod('talker', container('app', 'while true; do echo tick; echo tock >&2; sleep 0.1; done')),
    pod('done', container('app', 'exit 0')),
  );
  for (const name of ['two', 'shell', 'once', 'many', 'talker']) await house.running(name);
  await house.until('done', 'it has ended', (each) => each.status.phase === 'Succeeded');
  terminal = await openTerminal(house.berth);
});
afterEach(() => {
  // Whatever a test has left in it.
  terminal?.type('\x03\n');
});
afterAll(async () => {
  terminal?.close();
  await house?.berth.purge();
});

/**
 * Runs one command line in the terminal, between two looks at the terminal's settings;
 * returns the looks and the exit code.
 */
async function start(line: string): Promise<() => Promise<{ code: number; before: string; after: string }>> {
  terminal.type(`echo "before=$(stty -g)"; berth ${line}; echo "code=$?" "after=$(stty -g)"\n`);
  const before = (await terminal.until(/before=[0-9a-f:]{20,}/)).split('before=').at(-1) ?? '';
  return async () => {
    const [, code = '', after = ''] =
      /code=(\d+) after=([0-9a-f:]{20,})/.exec(await terminal.until(/code=\d+ after=[0-9a-f:]{20,}/)) ?? [];
    return { code: Number(code), before, after };
  };
}

describe('exec -it', () => {
  it('has the size of the window, and follows it', async () => {
    const end = await start("exec -it two -c app -- sh -c 'while [ ! -e /enough ]; do stty size; sleep 0.1; done; exit 5'");
    await terminal.until('30 100\n');
    await terminal.resize(132, 43);
    await terminal.until('43 132\n');
    await house.sh('two', 'touch /enough', 'app');
    const { code, before, after } = await end();
    expect(code).toBe(5);
    expect(after).toBe(before);
    await terminal.resize(100, 30);
  });

  it('passes Ctrl-C on to the program, and gives its exit code and the terminal back', async () => {
    const end = await start(
      `exec -it two -c app -- sh -c 'trap "echo caught; exit 9" INT; echo ready; while true; do sleep 0.1; done'`,
    );
    await terminal.until('ready\n');
    terminal.type('\x03');
    await terminal.until('caught\n');
    const { code, before, after } = await end();
    expect(code).toBe(9);
    expect(after).toBe(before);
  });

  it("shows what the program writes as it is, with one carriage return of its terminal's, or none", async () => {
    const end = await start(`exec -it two -c app -- sh -c 'echo tidy; stty -opost; echo "bare"; echo over'`);
    await terminal.until('over\n');
    const { code, before, after } = await end();
    expect(code).toBe(0);
    expect(after).toBe(before);
    expect(terminal.raw()).toMatch(/[^\r]tidy\r\nbare\nover\n/);
  });

  it('passes every key on at once: Ctrl-P is not swallowed', async () => {
    const end = await start(
      "exec -it two -c app -- sh -c 'stty raw -echo; echo ready; dd bs=1 count=3 2>/dev/null | od -c; exit 0'",
    );
    await terminal.until('ready');
    terminal.type('\x10a\x11');
    await terminal.until(/020\s+a\s+021/);
    expect((await end()).code).toBe(0);
  });

  it('says that the connection was lost when the server goes away, and gives the terminal back', async () => {
    const end = await start("exec -it two -c app -- sh -c 'echo ready; sleep 1000'");
    await terminal.until('ready\n');
    process.kill(house.berth.pid('server'), 'SIGKILL');
    await terminal.until(/error: .*(lost|cannot reach the API server)/);
    const { code, before, after } = await end();
    expect(code).toBe(1);
    expect(after).toBe(before);
    await eventually('the server is back', async () =>
      (await house.sh('two', 'echo back', 'app')) === 'back\n' ? true : undefined,
    );
  });
});

describe('exec', () => {
  it('passes standard input on, byte for byte', async () => {
    const input = 'some text, again and again\n'.repeat(100_000);
    const { stdout, code } = await house.berth.berth(['exec', '-i', 'two', '-c', 'side', '--', 'md5sum'], input);
    expect(code).toBe(0);
    expect(stdout).toBe(`${createHash('md5').update(input).digest('hex')}  -\n`);
  });

  it('takes the first of several containers and says so', async () => {
    const { stdout, stderr, code } = await house.berth.berth(['exec', 'two', '--', 'echo', 'hi']);
    expect({ stdout, stderr, code }).toEqual({
      stdout: 'hi\n',
      stderr: 'Defaulted container "app" out of: app, side\n',
      code: 0,
    });
    expect((await house.berth.berth(['exec', '-q', 'two', '--', 'echo', 'hi'])).stderr).toBe('');
  });

  it('answers a container that is not there, one that has ended, and a terminal that is none', async () => {
    const unknown = await house.berth.berth(['exec', 'two', '-c', 'db', '--', 'true']);
    expect(unknown).toMatchObject({ code: 1, stderr: 'error: pod "two" has no container "db": choose one of app, side\n' });
    const ended = await house.berth.berth(['exec', 'done', '--', 'true']);
    expect(ended).toMatchObject({ code: 1, stderr: 'error: container "app" in pod "done" is not running\n' });
    const piped = await house.berth.berth(['exec', '-it', 'two', '-c', 'app', '--', 'echo', 'hi']);
    expect(piped).toMatchObject({
      code: 0,
      stdout: 'hi\n',
      stderr: 'Unable to use a TTY - input is not a terminal or the right kind of file\n',
    });
  });
});

describe('attach', () => {
  it('joins a shell in a terminal: prompt, size, Ctrl-C, and its end', async () => {
    const end = await start('attach -it shell');
    await terminal.until('try pressing enter.');
    terminal.type('\necho $((6 * 7))\n');
    await terminal.until(/\n42\n/);
    await eventually('the size has arrived', async () => {
      terminal.type('stty size\n');
      return /30 100/.test(await terminal.until(/\d+ \d+\n/)) ? true : undefined;
    });
    terminal.type('sleep 1000\n');
    await terminal.until('sleep 1000\n');
    terminal.type('\x03');
    terminal.type('echo still $((1 + 1))\n');
    await terminal.until('still 2\n');
    terminal.type('exit\n');
    const { code, before, after } = await end();
    expect(code).toBe(0);
    expect(after).toBe(before);
    await house.until('shell', 'it has ended', (each) => each.status.phase === 'Succeeded');
  });

  it('ends the input of a container that takes it once', async () => {
    const { stdout, code } = await house.berth.berth(['attach', '-i', 'once'], 'one\ntwo\n');
    expect({ stdout, code }).toEqual({ stdout: 'got one\ngot two\nthe end\n', code: 0 });
    await house.until('once', 'it has ended', (each) => each.status.phase === 'Succeeded');
    expect(await house.berth.ok('logs', 'once')).toBe('got one\ngot two\nthe end\n');
  });

  it('leaves the input of another open for the next one', async () => {
    for (const word of ['one', 'two']) {
      await start('attach -i many');
      terminal.type(`${word}\n`);
      await terminal.until(`got ${word}\n`);
      // Without a terminal on the other side Ctrl-C ends the command here, and the line that it is part of.
      terminal.type('\x03');
      await terminal.until('^C');
    }
    expect((await house.pod('many')).status.phase).toBe('Running');
  });

  it('shows both streams of a container that has no input, and says what is not possible', async () => {
    await start('attach -i -t talker');
    await terminal.until('Unable to use standard input - container app was started without "stdin: true"');
    await terminal.until('Unable to use a TTY - container app did not allocate one');
    await terminal.until('tick\n');
    await terminal.until('tock\n');
    terminal.type('\x03');
    await terminal.until('^C');
  });

  it('ended by a signal says nothing, and its code is that of the signal', async () => {
    const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
    const child = spawn(process.execPath, [launcher, 'attach', 'talker'], {
      env: { ...process.env, BERTH_CONFIG: house.berth.config },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    const closed = once(child, 'close');
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    child.stdout.resume();
    expect(await closed).toEqual([143, null]);
    expect(stderr.replaceAll('tock\n', '')).toBe('');
  });

  it('to a pod that has ended says so', async () => {
    expect(await house.berth.berth(['attach', 'done'])).toMatchObject({
      code: 1,
      stderr: 'error: cannot attach a container in a completed pod; current phase is Succeeded\n',
    });
  });
});
