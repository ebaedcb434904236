import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, run } from './installation.ts';
import { createPodHouse, type PodHouse, podOf, script, secret, stay } from './pods-fixture.ts';

// What a person is told: why something does not run, what is in use, what happened, and what may be typed next.
let house: PodHouse;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-e2e-describe-'));
  house = await createPodHouse('describe');
  await house.apply(
    podOf('crashes', [script('for i in $(seq 12); do echo "line $i"; done; sleep 0.3; echo "fatal: no database"; exit 3')]),
    podOf('fails', [script('echo "gave up" >&2; exit 5')], { restartPolicy: 'Never' }),
    podOf('too-big', [script(stay, { resources: { requests: { cpu: '900' } } })]),
    podOf(
      'runs',
      [script(stay, { resources: { requests: { cpu: '50m', memory: '16Mi' } } }), script(stay, { name: 'side' })],
      {},
      {
        labels: { app: 'runs' },
      },
    ),
    secret('hidden', { password: 'hunter2' }),
  );
});
afterAll(async () => {
  await house.berth.purge();
  rmSync(folder, { recursive: true, force: true });
});

const describePod = (...words: string[]): Promise<string> => house.berth.ok('describe', 'pod', ...words);

describe('describe', () => {
  it('shows of a container that crashes again and again its reason, its exit code and its last lines', async () => {
    await house.until(
      'crashes',
      'waits',
      (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff',
    );
    const text = await describePod('crashes');
    expect(text).toMatch(/State: +Waiting\n +Reason: +CrashLoopBackOff\n +Message: +back-off /);
    expect(text).toMatch(/Last State: +Terminated\n +Reason: +Error\n +Exit Code: +3\n/);
    const [, tail = ''] = /Last Log Lines:\n((?: {6}.*\n)+)/.exec(text) ?? [];
    expect(
      tail
        .trimEnd()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([...[4, 5, 6, 7, 8, 9, 10, 11, 12].map((i) => `line ${i}`), 'fatal: no database']);
    expect(text).toMatch(/Warning +BackOff .*Back-off restarting failed container/);
  });

  it('shows the last lines of a container that has failed for good, and none of one that runs', async () => {
    await house.until('fails', 'has failed', (pod) => pod.status.phase === 'Failed');
    expect(await describePod('fails')).toMatch(/Exit Code: +5\n(?:.*\n)*? +Last Log Lines:\n +gave up\n/);
    await house.running('runs');
    expect(await describePod('runs')).not.toContain('Last Log Lines');
  });

  it('shows why a pod waits for a node', async () => {
    await eventually('the scheduler has said why', async () =>
      /Status: +Pending\nReason: +Unschedulable\nMessage: +0\/1 nodes are available: 1 insufficient cpu/i.test(
        await describePod('too-big'),
      )
        ? true
        : undefined,
    );
  });

  it('takes several names, labels, beginnings of names and TYPE/NAME, and says which names do not exist', async () => {
    const headOf = (text: string): string[] => [...text.matchAll(/^Name: +(.*)$/gm)].map((match) => match[1] ?? '');
    expect(headOf(await describePod('fails', 'too-big'))).toEqual(['fails', 'too-big']);
    expect(headOf(await describePod('-l', 'app=runs'))).toEqual(['runs']);
    expect(headOf(await describePod('too'))).toEqual(['too-big']);
    expect(headOf(await house.berth.ok('describe', 'pod/fails', 'secret/hidden'))).toEqual(['fails', 'hidden']);
    const { code, stdout, stderr } = await house.berth.berth(['describe', 'pod', 'nowhere', 'fails']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: pod "nowhere" in namespace "default" not found\n' });
    expect(headOf(stdout)).toEqual(['fails']);
  });

  it('never shows what is in a Secret', async () => {
    const text = await house.berth.ok('describe', 'secret', 'hidden');
    expect(text).toContain('password:  7 bytes\n');
    expect(text).not.toMatch(/hunter2|aHVudGVyMg/);
  });

  it('adds up what pods reserve on a node, beside what it uses, and says when its agent was heard last', async () => {
    const text = await eventually('the node has reported', async () => {
      const described = await house.berth.ok('describe', 'node', house.berth.nodeName);
      return /In Use:\n +Read:/.test(described) ? described : undefined;
    });
    expect(text).toMatch(/RenewTime: +\w{3}, .* \(\d+s ago\)\n/);
    expect(text).toMatch(/default +runs +50m \(\d+%\) +0 \(0%\) +16Mi \(\d+%\) +0 \(0%\)/);
    expect(text).toMatch(/Resource +Requests +Limits +In Use\n[ -]+\n +cpu +50m \(\d+%\) +0 \(0%\) +\S+ \(\d+%\)\n/);
    expect(text).toMatch(/Images: +\d+ \(\d+Mi\)\n/);
  });

  it.each(['namespace', 'configmap', 'lease', 'event', 'nodemetrics'])('has something to say of every %s', async (type) => {
    if (type === 'configmap')
      await house.berth.berth(
        ['apply', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } }),
      );
    expect(await house.berth.ok('describe', type, '-A')).toMatch(/^Name: +\S/);
  });
});

describe('top', () => {
  it('shows what nodes, pods and containers use once they are measured', async () => {
    const nodes = await eventually('the node is measured', async () => {
      const text = await house.berth.ok('top', 'nodes');
      return text.includes('<unknown>') ? undefined : text;
    });
    expect(nodes).toMatch(/^NAME +CPU\(cores\) +CPU\(%\) +MEMORY\(bytes\) +MEMORY\(%\)\n\S+ +\d+m +\d+% +\d+Mi +\d+%\n$/);
    const containers = await eventually('the containers are measured', async () => {
      const { code, stdout } = await house.berth.berth(['top', 'pods', '-l', 'app=runs', '--containers', '--no-headers']);
      return code === 0 && !stdout.includes('<unknown>') && stdout.split('\n').length === 3 ? stdout : undefined;
    });
    expect(containers).toMatch(/^runs +main +\d+m +\d+Mi\nruns +side +\d+m +\d+Mi\n$/);
    expect(await house.berth.ok('top', 'pods', 'runs', '--sort-by', 'cpu')).toMatch(
      /^NAME +CPU\(cores\) +MEMORY\(bytes\)\nruns +\d+m +\d+Mi\n$/,
    );
  });

  it('says plainly when there are no figures', async () => {
    const { code, stderr } = await house.berth.berth(['top', 'pods', 'too-big']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'error: metrics not available yet: no container runs in pod "too-big"\n',
    });
  });
});

describe('events', () => {
  it('are shown in order of time, of one object, and of one type', async () => {
    const text = await house.berth.ok('events', '--for', 'pod/runs');
    expect(text).toMatch(/^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/);
    const reasons = text
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {3,}/)[2]);
    expect(reasons[0]).toBe('Scheduled');
    expect(reasons).toContain('Started');
    const warnings = await house.berth.ok('events', '-A', '--types=Warning', '--no-headers');
    expect(warnings).toMatch(/^default +.* +Warning +FailedScheduling +pod\/too-big /m);
    expect(warnings).not.toContain(' Normal ');
  });
});

describe('what needs no server', () => {
  it('explains fields, and lists kinds and contexts', async () => {
    const text = await house.berth.ok('explain', 'pod.spec.restartPolicy');
    expect(text).toMatch(/FIELD: restartPolicy <string>\nENUM:\n +Always\n +OnFailure\n +Never\nSUPPORT: works\n/);
    expect(text).toContain('whether ended containers start again');
    expect((await house.berth.ok('api-resources', '-o', 'name')).split('\n')).toEqual(
      expect.arrayContaining(['pods', 'configmaps', 'deployments.apps']),
    );
    expect(await house.berth.ok('config', 'get-contexts', '--no-headers')).toMatch(/^\* +berth +berth +berth +default\n$/);
    expect(await house.berth.ok('config', 'view')).toContain('client-key-data: DATA+OMITTED\n');
  });
});

/** Runs a shell in which `berth` is the built command line; `$BERTH_CONFIG` leads it to this installation. */
async function shell(name: string, args: readonly string[], text: string): Promise<string[]> {
  const file = join(folder, `complete.${name}`);
  const bin = dirname(fileURLToPath(new URL('../../bin/berth', import.meta.url)));
  writeFileSync(file, `export PATH="${bin}:$PATH"\n${text}`);
  const { code, stdout, stderr } = await run(name, [...args, file], house.berth.config);
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${stderr}`);
  return stdout.split('\n').filter(Boolean);
}

describe('completion', () => {
  const inBash = (line: string) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    return shell(
      'bash',
      ['--norc'],
      `source <(berth completion bash)
       complete -p berth >/dev/null || exit 1
       COMP_LINE='${line}' COMP_POINT=${line.length} COMP_WORDS=(${words.join(' ')}) COMP_CWORD=${words.length - 1}
       _berth; printf '%s\\n' "\${COMPREPLY[@]}"`,
    );
  };

  it('in bash knows commands, kinds, flags, and the names that the server has', async () => {
    expect(await inBash('berth desc')).toEqual(['describe']);
    expect(await inBash('berth get secr')).toEqual(['secrets']);
    expect(await inBash('berth describe pod cra')).toEqual(['crashes']);
    expect(await inBash('berth describe pod/ru')).toEqual(['pod/runs']);
    expect(await inBash('berth logs runs -c ')).toEqual(['main', 'side']);
    expect(await inBash('berth get pods -n kube-n')).toEqual(['kube-node-lease']);
    expect(await inBash('berth get pods --field-sel')).toEqual(['--field-selector']);
    expect(await inBash('berth config use-context ')).toEqual(['berth']);
  });

  it('in bash offers nothing, and says nothing, when the server is away', async () => {
    const { code, stdout, stderr } = await run(process.execPath, [
      fileURLToPath(new URL('../../bin/berth', import.meta.url)),
      '__complete',
      '--',
      'logs',
      '',
    ]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: ':\n', stderr: '' });
  });

  it('in zsh offers the same, with what each means', async () => {
    // The functions of zsh that draw the list need a terminal: here they tell what they were given.
    const text = `compdef() {}; _describe() { print -rl -- \${(P)3} }
      source <(berth completion zsh)
      words=(berth describe pod cra) CURRENT=4; _berth
      words=(berth conf) CURRENT=2; _berth`;
    expect(await shell('zsh', ['-f'], text)).toEqual(['crashes', expect.stringMatching(/^config:Show and edit/)]);
  });

  it('in fish offers the same', async () => {
    const text = 'berth completion fish | source\ncomplete -C "berth describe pod cra"\ncomplete -C "berth top pods --sort-by "';
    expect(await shell('fish', ['--no-config'], text)).toEqual(['crashes', 'cpu', 'memory']);
  });
});
