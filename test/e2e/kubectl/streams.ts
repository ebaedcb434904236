import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '../installation.ts';
import type { Kubectl } from './session.ts';

const image = '--image=berth/busybox --image-pull-policy=Never';
const sleeps = ['--', 'sh', '-c', 'trap exit TERM; sleep 3600 & wait'];

/** What streams to and from pods: `exec`, `attach`, `run -it`, `cp`, `port-forward` and `debug`. */
export function streams(into: (namespace: string) => Promise<Kubectl>): void {
  it('exec runs commands with input, output and exit codes, and in a terminal', async () => {
    const k = await into('exec');
    await k.ok(`run web ${image}`, ...sleeps);
    await k.ok('wait --for=condition=Ready pod/web --timeout=120s');
    expect(await k.ok('exec web', '--', 'echo', 'one two')).toBe('one two\n');
    expect(await k.pipe('typed\n', 'exec -i web', '--', 'cat')).toBe('typed\n');
    const large = 'x'.repeat(300_000);
    expect(await k.pipe(large, 'exec -i web', '--', 'wc', '-c')).toBe('300000\n');
    const failed = await k.run('exec pod/web', ['--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
    expect(failed).toMatchObject({ code: 3, stdout: 'out\n', stderr: expect.stringMatching(/^err\n(.|\n)*exit code 3\n$/) });
    expect(await k.fails('exec web -c none', '--', 'true')).toContain('container none is not valid for pod web');
    expect(await k.fails('exec none', '--', 'true')).toMatch(/pods "none" not found/);
    const shell = k.terminal('exec -it web', '--', 'sh');
    await shell.until('/ # ');
    shell.type('stty size; echo from-$((40+2)); exit 5\r');
    expect(await shell.until(/from-42\n/)).toMatch(/30 100\n/);
    expect(await shell.end()).toMatchObject({ code: 5 });
    await k.ok('delete pod web --now');
  });

  it('attach and run join a container', async () => {
    const k = await into('attach');
    await k.ok(`run talker ${image}`, '--', 'sh', '-c', 'trap exit TERM; while true; do echo tick; sleep 0.2; done');
    await k.ok('wait --for=condition=Ready pod/talker --timeout=120s');
    const listener = k.start('attach talker');
    await listener.until(/tick\n(.|\n)*tick\n/);
    await listener.stop();
    const piped = await k.run(`run piped ${image} --rm -i --restart=Never`, ['--', 'sh', '-c', 'cat; exit 0'], 'through\n');
    expect(piped).toMatchObject({ code: 0, stdout: expect.stringMatching(/^through\npod "piped" deleted/) });
    // It begins to write, and may end, before kubectl has joined it.
    for (const [name, script, whole] of [
      ['quick', 'echo one', 'one\n'],
      ['early', 'echo one; sleep 0.2; echo two', 'one\ntwo\n'],
    ] as const)
      expect(await k.ok(`run ${name} ${image} -i --restart=Never`, '--', 'sh', '-c', script)).toBe(whole);
    await k.ok('delete pod quick early --now');
    const shell = k.terminal(`run shell ${image} --rm -it --restart=Never`, '--', 'sh');
    await shell.until(/press(ing)? enter|\/ # /);
    shell.type('\r');
    await shell.until('/ # ');
    shell.type('echo host-$(hostname); exit\r');
    await shell.until('host-shell\n');
    expect((await shell.end()).stdout).toContain('pod "shell" deleted');
    await k.ok('delete pod talker --now');
  });

  it('cp copies files and folders both ways', async () => {
    const k = await into('copy');
    await k.ok(`run web ${image}`, ...sleeps);
    await k.ok('wait --for=condition=Ready pod/web --timeout=120s');
    const file = k.file('sent/one', 'the first\n');
    const large = 'large '.repeat(100_000);
    k.file('sent/deeper/two', large);
    await k.ok('cp', file, 'web:/tmp/one');
    expect(await k.ok('exec web', '--', 'cat', '/tmp/one')).toBe('the first\n');
    await k.ok('cp', file.replace(/\/one$/, ''), 'copy/web:/tmp/sent');
    expect(await k.ok('exec web', '--', 'wc', '-c', '/tmp/sent/deeper/two')).toBe('600000 /tmp/sent/deeper/two\n');
    const back = file.replace(/sent\/one$/, 'back');
    await k.ok('cp', 'web:/tmp/sent', back);
    expect([readFileSync(`${back}/one`, 'utf8'), readFileSync(`${back}/deeper/two`, 'utf8')]).toEqual(['the first\n', large]);
    // What else it says is chance: busybox' tar ends an empty archive, and kubectl may go before the error has come.
    await k.run('cp', ['web:/tmp/nothing', `${back}/nothing`]);
    expect(existsSync(`${back}/nothing`)).toBe(false);
    await k.ok('delete pod web --now');
  });

  it('port-forward leads local ports to pods and Services', async () => {
    const k = await into('forward');
    const serve = 'trap exit TERM; mkdir /tmp/w; echo served >/tmp/w/index.html; httpd -f -p 8080 -h /tmp/w & wait';
    await k.ok(`run web ${image} --port=8080 --labels=app=web`, '--', 'sh', '-c', serve);
    await k.ok('expose pod web --port=80 --target-port=8080');
    await k.ok('wait --for=condition=Ready pod/web --timeout=120s');
    for (const [target, port] of [
      ['pod/web', '8080'],
      ['service/web', '80'],
    ]) {
      const local = await freePort();
      const forward = k.start(`port-forward ${target} ${local}:${port}`);
      try {
        await forward.until(`Forwarding from 127.0.0.1:${local} -> 8080`);
        const answers = await Promise.all(Array.from({ length: 5 }, () => get(local)));
        expect(answers).toEqual(Array(5).fill(expect.stringMatching(/^HTTP\/1\.[01] 200 OK\r\n(.|\r|\n)*served\n$/)));
      } finally {
        await forward.stop();
      }
    }
    expect(await k.fails('port-forward pod/none 1:1')).toMatch(/pods "none" not found/);
    await k.ok('delete pod,service web --now');
  });

  it('debug adds a container to a pod, and copies a pod', async () => {
    const k = await into('debugging');
    await k.ok(`run web ${image}`, ...sleeps);
    await k.ok('wait --for=condition=Ready pod/web --timeout=120s');
    // Until 1.22 kubectl sent a kind that Kubernetes has dropped.
    if (k.minor >= 23) {
      const shell = k.terminal(`debug web -it ${image} --container=look`, '--', 'sh');
      await shell.until(/press(ing)? enter|\/ # /);
      shell.type('\r');
      await shell.until('/ # ');
      shell.type('echo host-$(hostname); exit\r');
      await shell.until('host-web\n');
      await shell.end();
      expect(await k.ok('get pod web', '-o=jsonpath={.spec.ephemeralContainers[*].name}')).toBe('look');
    }
    await k.ok(`debug web ${image} --copy-to=copy --container=web`, '--', 'sleep', '1000');
    expect(await k.ok('get pod copy -o', 'jsonpath={.spec.containers[*].name} {.spec.containers[0].command}')).toMatch(
      /^web \["sleep","1000"\]/,
    );
    await k.ok('delete pod --all --now');
  });
}

/** The answer of an HTTP server at a port of this machine, as it is. */
function get(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.0\r\n\r\n'));
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.on('end', () => resolve(text)).on('error', reject);
  });
}
