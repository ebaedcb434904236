import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containersOf, createInstallation, eventually, type Installation, type Outcome } from './installation.ts';
import { openTerminal } from './pty.ts';

// The verbs of a first hour beyond apply and logs, as a user of kubectl types them.
let berth: Installation;
let folder: string;

beforeAll(async () => {
  berth = await createInstallation('verbs');
  folder = mkdtempSync(join(tmpdir(), 'berth-verbs-'));
  await berth.up();
});
afterAll(async () => {
  await berth.purge();
  rmSync(folder, { recursive: true, force: true });
});

const image = '--image=berth/busybox';
const sleep = ['--', 'sleep', '3600'];

function file(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

async function fails(...args: string[]): Promise<string> {
  const { code, stderr } = await berth.berth(args);
  expect(code).toBe(1);
  return stderr;
}

const field = (what: string, path: string): Promise<string> => berth.ok('get', what, '-o', `jsonpath=${path}`);

describe('create and run', () => {
  it('make objects from flags, and only print them in a rehearsal', async () => {
    expect(await berth.ok('create', 'namespace', 'team')).toBe('namespace/team created\n');
    const values = ['--from-literal=a=1', `--from-file=${file('greeting', 'hello\n')}`];
    expect(await berth.ok('create', 'cm', 'settings', ...values, '-n', 'team')).toBe('configmap/settings created\n');
    expect(await berth.ok('get', 'cm/settings', '-n', 'team', '-o', 'jsonpath={.data.a} {.data.greeting}')).toBe('1 hello\n');
    expect(await berth.ok('create', 'secret', 'generic', 'token', '--from-literal=t=xyz')).toBe('secret/token created\n');
    expect(await field('secret/token', '{.data.t}')).toBe('eHl6');
    const manifest = await berth.ok('create', 'configmap', 'later', '--from-literal=x=y', '--dry-run=client', '-o', 'yaml');
    expect(manifest).toBe('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: later\n  namespace: default\ndata:\n  x: "y"\n');
    expect(await berth.ok('create', 'namespace', 'later', '--dry-run=server')).toBe('namespace/later created (server dry run)\n');
    expect(await berth.ok('get', 'cm/later', 'namespace/later', '--ignore-not-found')).toBe('');
    expect(await fails('create', 'namespace', 'team')).toBe('error: namespace "team" already exists\n');
  });

  it('run an image as a pod that can be waited for', async () => {
    expect(await berth.ok('run', 'web', image, '--port=80', '--env=A=b', '--labels=app=web,tier=front', ...sleep)).toBe(
      'pod/web created\n',
    );
    expect(await berth.ok('run', 'db', image, '--labels=app=db', ...sleep)).toBe('pod/db created\n');
    expect(await berth.ok('wait', '--for=condition=Ready', 'pod', '--all', '--timeout=120s')).toMatch(
      /^pod\/db condition met\npod\/web condition met\n$/,
    );
    expect(await field('pod/web', '{.spec.containers[0].env[0].value}')).toBe('b');
  });
});

describe('run with a terminal or a pipe', () => {
  const once = [image, '--image-pull-policy=Never', '--rm', '--restart=Never'];

  it('passes input, output and the exit code on, and deletes the pod', async () => {
    const { code, stdout, stderr } = await berth.berth(
      ['run', 'piped', ...once, '-i', '--', 'sh', '-c', 'cat; echo end >&2; exit 3'],
      'one\ntwo\n',
    );
    expect({ code, stdout }).toEqual({ code: 3, stdout: 'one\ntwo\npod "piped" deleted\n' });
    expect(stderr).toMatch(/end\n(.|\n)*error: pod default\/piped terminated \(Error\)\n$/);
    const quiet = await berth.berth(['run', 'quiet', ...once, '--attach', '-q', '--', 'echo', 'out'], 'not read');
    expect(quiet).toEqual({ code: 0, stdout: 'out\n', stderr: '' });
    await berth.ok('wait', '--for=delete', 'pod/piped', 'pod/quiet', '--timeout=120s');
  });

  it('joins a shell in a terminal, and deletes the pod at its end and at Ctrl-C', async () => {
    const terminal = await openTerminal(berth);
    const overrides = '{"spec":{"terminationGracePeriodSeconds":1}}';
    const flags = `${image} --image-pull-policy=Never --rm --overrides='${overrides}'`;
    try {
      terminal.type(`berth run shell ${flags} -it -- sh; echo "code=$?"\n`);
      await terminal.until("If you don't see a command prompt, try pressing enter.");
      terminal.type('echo from-$((40+2))-$(hostname)\n');
      await terminal.until('from-42-shell');
      terminal.type('exit\n');
      const ended = await terminal.until(/code=\d+/);
      expect(ended).toContain('pod "shell" deleted');
      expect(ended).toContain('code=0');
      terminal.type(`berth run busy ${flags} --attach -- sh -c 'echo up-$((40+2)); sleep 1000'; echo "code=$?"\n`);
      await terminal.until('up-42');
      terminal.type('\u0003');
      expect(await terminal.until(/code=\d+/)).toMatch(/pod "busy" deleted\n(.|\n)*code=130/);
    } finally {
      terminal.close();
    }
    await berth.ok('wait', '--for=delete', 'pod/shell', 'pod/busy', '--timeout=120s');
  });
});

describe('get', () => {
  it('shows several types, all, labels and chosen columns', async () => {
    expect(await berth.ok('get', 'all')).toMatch(
      /^NAME +READY .*\npod\/db +1\/1 .*\npod\/web +1\/1 .*\n\nNAME +TYPE .*\nservice\/berth .*\nservice\/kubernetes .*\n$/,
    );
    expect(await berth.ok('get', 'pod,node')).toMatch(/pod\/web[\s\S]*\n\nNAME[\s\S]*node\//);
    expect(await berth.ok('get', 'pods', '-L', 'app,tier')).toMatch(/ APP +TIER\n.*db\n.*web +front\n$/);
    expect(
      await berth.ok('get', 'pods', '--no-headers', '-o', 'custom-columns=N:.metadata.name,I:.spec.containers[*].image'),
    ).toBe('db    berth/busybox\nweb   berth/busybox\n');
    expect(
      await berth.ok('get', 'pods', '-o', 'name', '--field-selector', `spec.nodeName=${berth.nodeName}`, '-l', 'app in (web)'),
    ).toBe('pod/web\n');
  });

  it('fills templates, sorts, and shows what there is beside what is missing', async () => {
    const template = '{range .items[*]}{.metadata.name}={.status.phase}{"\\n"}{end}';
    expect(await berth.ok('get', 'pods', '-o', `jsonpath=${template}`)).toBe('db=Running\nweb=Running\n');
    const sorted = await berth.ok('get', 'pods', '--sort-by=.metadata.labels.tier', '--no-headers');
    expect(sorted.split('\n').map((line) => line.split(' ')[0])).toEqual(['db', 'web', '']);
    const { code, stdout, stderr } = await berth.berth(['get', 'pods', 'web', 'gone', '-o', 'name']);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: 'pod/web\n',
      stderr: 'error: pod "gone" in namespace "default" not found\n',
    });
  });
});

describe('label and annotate', () => {
  it('set, keep, overwrite, remove and list', async () => {
    expect(await berth.ok('label', 'pod', 'web', 'stage=test')).toBe('pod/web labeled\n');
    expect(await berth.ok('label', 'pod', 'web', 'stage=test')).toBe('pod/web not labeled\n');
    expect(await fails('label', 'pod', 'web', 'stage=live')).toBe(
      'error: pods/web: "stage" has the value "test" already; add --overwrite to change it\n',
    );
    expect(await berth.ok('label', '--overwrite=true', 'pod/web', 'pod/db', 'stage=live')).toBe(
      'pod/web labeled\npod/db labeled\n',
    );
    expect(await berth.ok('get', 'pods', '-l', 'stage=live', '-o', 'name')).toBe('pod/db\npod/web\n');
    expect(await berth.ok('label', 'pods', '--all', 'stage-')).toBe('pod/db unlabeled\npod/web unlabeled\n');
    expect(await berth.ok('label', 'pod', 'web', '--list')).toBe('app=web\ntier=front\n');
    expect(await berth.ok('annotate', 'pods', '-l', 'app=web', 'note=a b=c')).toBe('pod/web annotated\n');
    expect(await field('pod/web', '{.metadata.annotations.note}')).toBe('a b=c');
    expect(await fails('label', 'pod', 'web', 'bad/key/x=1')).toContain('metadata.labels[bad/key/x]');
  });
});

describe('create of what it does not make', () => {
  it('says what it makes, whatever flags such a thing would have', async () => {
    expect(await fails('create', 'picture', 'web', '--image=x')).toBe(
      'error: create makes namespace, configmap, priorityclass, poddisruptionbudget, ingress, deployment, job, cronjob, quota, service, role, clusterrole, rolebinding, clusterrolebinding, user, serviceaccount, token, secret, not "picture"; everything else comes from a manifest: create -f FILE\n',
    );
    expect(await fails('create', 'resourceclaim', 'web', '--rule=x')).toMatch(
      /^error: ResourceClaim is not there yet: [^\n]+\n$/,
    );
    expect(await fails('create', '--foo')).toBe("error: unknown option '--foo'; --help says how to use it\n");
  });
});

describe('patch', () => {
  it('merges lists by key, replaces fields, and does operations', async () => {
    expect(await berth.ok('patch', 'pod', 'web', '-p', '{"metadata": {"labels": {"p": "1"}}}')).toBe('pod/web patched\n');
    expect(await berth.ok('patch', 'pod', 'web', '-p', 'metadata: {labels: {p: "1"}}')).toBe('pod/web patched (no change)\n');
    await berth.ok('patch', 'cm', 'settings', '-n', 'team', '--type=merge', '-p', '{"data": {"a": null, "b": "2"}}');
    await berth.ok(
      'patch',
      'cm',
      'settings',
      '-n',
      'team',
      '--type=json',
      '-p',
      '[{"op": "add", "path": "/data/c", "value": "3"}]',
    );
    expect(await berth.ok('get', 'cm/settings', '-n', 'team', '-o', 'jsonpath={.data}')).toBe(
      '{"greeting":"hello\\n","b":"2","c":"3"}',
    );
    expect(await fails('patch', 'pod', 'web', '-p', '{"spec": {"containers": [{"image": "x"}]}}')).toContain('needs its name');
    expect(await fails('patch', 'pod', 'web', '-p', 'nothing')).toBe(
      'error: cannot read the patch: a strategic patch is an object\n',
    );
    expect(await fails('patch', 'pod', 'web', '-p', '{bad')).toMatch(/^error: cannot read the patch: .*[^:]\n$/);
  });
});

describe('edit', () => {
  const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));

  /** Edits with a script as editor, which gets the file as $1. */
  async function edit(script: string, ...args: string[]): Promise<Outcome> {
    process.env.KUBE_EDITOR = file('editor.sh', `#!/bin/sh\n${script}\n`, 0o700);
    try {
      return await berth.berth(['edit', ...args]);
    } finally {
      delete process.env.KUBE_EDITOR;
    }
  }

  it('saves what was changed, and says when nothing was', async () => {
    expect(await edit('sed -i "s/^  b: .*/  b: edited/" "$1"', 'cm/settings', '-n', 'team')).toEqual({
      code: 0,
      stdout: 'configmap/settings edited\n',
      stderr: '',
    });
    expect(await berth.ok('get', 'cm/settings', '-n', 'team', '-o', 'jsonpath={.data.b}')).toBe('edited');
    const nothing = await edit('true', 'cm/settings', '-n', 'team');
    expect(nothing).toEqual({ code: 0, stdout: '', stderr: 'Edit cancelled, no changes made.\n' });
  });

  it('applies the edit on top of a concurrent change', async () => {
    const meanwhile = `${process.execPath} ${launcher} -n team label cm settings meanwhile=1 >/dev/null`;
    const { code } = await edit(`${meanwhile}; sed -i "s/^  c: .*/  c: mine/" "$1"`, 'cm', 'settings', '-n', 'team');
    expect(code).toBe(0);
    const both = await berth.ok('get', 'cm/settings', '-n', 'team', '-o', 'jsonpath={.data.c} {.metadata.labels.meanwhile}');
    expect(both).toBe('mine 1');
  });

  it('opens again with the reasons above the object, and keeps what was written when the person gives up', async () => {
    const script = `grep -q "was not saved" "$1" && { cp "$1" ${folder}/second; exit 0; }; sed -i "s/^  b: .*/  b: [1]/" "$1"`;
    const { code, stderr } = await edit(script, 'cm', 'settings', '-n', 'team');
    expect(code).toBe(1);
    const [, copy = ''] =
      /^error: Edit cancelled, no valid changes were saved:\n {2}data\[b\]: wrong type: expected a string, found a list\nA copy of your changes is in (\S+)\n$/.exec(
        stderr,
      ) ?? [];
    const second = readFileSync(join(folder, 'second'), 'utf8');
    const [, line] = /^# \* line (\d+): data\[b\]: wrong type: expected a string, found a list$/m.exec(second) ?? [];
    expect(second.split('\n')[Number(line) - 1]).toBe('  b: [1]');
    expect(readFileSync(copy, 'utf8')).toBe(second);
    rmSync(dirname(copy), { recursive: true });
    expect(await berth.ok('get', 'cm/settings', '-n', 'team', '-o', 'jsonpath={.data.b}')).toBe('edited');
  });

  it('opens again when the server refuses, and saves what is right then', async () => {
    const script =
      'grep -q "was not saved" "$1" && sed -i "s/a_bad!/good/" "$1" || sed -i "s/meanwhile: .*/meanwhile: a_bad!/" "$1"';
    expect(await edit(script, 'cm', 'settings', '-n', 'team')).toMatchObject({ code: 0 });
    expect(await berth.ok('get', 'cm/settings', '-n', 'team', '-o', 'jsonpath={.metadata.labels.meanwhile}')).toBe('good');
  });

  it('says which editor does not start', async () => {
    process.env.KUBE_EDITOR = 'no-such-editor --wait';
    expect(await fails('edit', 'pod/web')).toContain('cannot start the editor "no-such-editor --wait"; set KUBE_EDITOR');
    delete process.env.KUBE_EDITOR;
  });
});

describe('replace', () => {
  const settings = (value: string): string =>
    file('replace.yaml', `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: replaced\ndata:\n  a: "${value}"\n`);

  it('replaces what exists, and with --force makes it anew', async () => {
    expect(await fails('replace', '-f', settings('1'))).toContain('configmap "replaced" in namespace "default" not found');
    await berth.ok('create', '-f', settings('1'));
    const uid = await field('cm/replaced', '{.metadata.uid}');
    expect(await berth.ok('replace', '-f', settings('2'))).toBe('configmap/replaced replaced\n');
    expect(await field('cm/replaced', '{.data.a} {.metadata.uid}')).toBe(`2 ${uid}`);
    await berth.ok('replace', '--force', '-f', settings('3'));
    expect(await field('cm/replaced', '{.data.a}')).toBe('3');
    expect(await field('cm/replaced', '{.metadata.uid}')).not.toBe(uid);
  });
});

describe('a pod that cannot be changed in place', () => {
  const fixed = (seconds: number): string =>
    file(
      'fixed.yaml',
      `apiVersion: v1\nkind: Pod\nmetadata:\n  name: fixed\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - name: c\n    image: berth/busybox\n    command: [sleep, "${seconds}"]\n`,
    );

  it('is refused with the line and what helps, and that helps', async () => {
    await berth.ok('apply', '-f', fixed(3600));
    const path = fixed(7200);
    const stderr = await fails('apply', '-f', path);
    expect(stderr).toContain(`error: ${path}:10: spec.containers[0].command`);
    expect(stderr).toContain('berth replace --force -f FILE');
    expect(await berth.ok('replace', '--force', '-f', path)).toBe('pod/fixed replaced\n');
    await berth.ok('wait', 'pod/fixed', '--for=condition=Ready', '--timeout=120s');
    expect(await field('pod/fixed', '{.spec.containers[0].command[1]}')).toBe('7200');
    await berth.ok('delete', 'pod', 'fixed', '--now');
  });
});

describe('wait', () => {
  it('waits for fields, for creation, and gives up in time', async () => {
    expect(await berth.ok('wait', 'pod/web', 'pod/db', '--for=jsonpath={.status.phase}=Running')).toBe(
      'pod/web condition met\npod/db condition met\n',
    );
    const coming = berth.berth(['wait', 'cm/coming', '--for=create', '--timeout=60s']);
    await berth.ok('create', 'cm', 'coming');
    expect(await coming).toEqual({ code: 0, stdout: 'configmap/coming condition met\n', stderr: '' });
    expect(await fails('wait', 'pod/web', '--for=condition=Nonsense', '--timeout=1s')).toBe(
      'error: timed out waiting for the condition on pods/web\n',
    );
    expect(await fails('wait', 'pod/none', '--for=condition=Ready')).toBe('error: pod "none" in namespace "default" not found\n');
    expect(await fails('wait', 'pod', '-l', 'app=none', '--for=condition=Ready')).toBe('error: no matching resources found\n');
  });
});

describe('delete', () => {
  it('chooses by labels and fields, and finds nothing without complaint', async () => {
    expect(await berth.ok('delete', 'cm', '--field-selector', 'metadata.name=coming')).toBe('configmap "coming" deleted\n');
    expect(await berth.ok('delete', 'pods', '-l', 'app=none')).toBe('No resources found\n');
    expect(await berth.ok('delete', 'cm', 'none', '--ignore-not-found=true')).toBe('');
    expect(await berth.ok('delete', 'secret', 'token', '--dry-run=server')).toBe('secret "token" deleted (server dry run)\n');
    expect(await berth.ok('get', 'secret/token', '-o', 'name')).toBe('secret/token\n');
  });

  it('stops waiting after --timeout, while the deletion goes on', async () => {
    const stubborn = ['--command', '--', 'sh', '-c', 'trap "" TERM; while :; do sleep 1; done'];
    await berth.ok('run', 'stubborn', image, ...stubborn);
    await berth.ok('wait', 'pod/stubborn', '--for=condition=Ready', '--timeout=120s');
    const { code, stdout, stderr } = await berth.berth(['delete', 'pod', 'stubborn', '--grace-period=600', '--timeout=1s']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'pod "stubborn" deleted\n' });
    expect(stderr).toBe('error: timed out waiting until pods/stubborn is gone; its deletion goes on\n');
    expect(await field('pod/stubborn', '{.metadata.deletionGracePeriodSeconds}')).toBe('600');
  });

  it('removes the object at once when forced, and the node ends its containers', async () => {
    const { code, stdout, stderr } = await berth.berth(['delete', 'pod', 'stubborn', '--force', '--grace-period=0']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'pod "stubborn" force deleted\n' });
    expect(stderr).toMatch(/^Warning: forced deletion does not wait/);
    expect(await berth.ok('get', 'pod/stubborn', '--ignore-not-found')).toBe('');
    await eventually('its containers are gone', async () =>
      (await containersOf(berth.nodeName)).some((each) => each.pod === 'stubborn') ? undefined : true,
    );
  });

  it('returns at once when told, and waits for all that it deletes when not', async () => {
    expect(await berth.ok('delete', 'pod/web', '--now', '--wait=false')).toBe('pod "web" deleted\n');
    expect(await berth.ok('wait', 'pod/web', '--for=delete', '--timeout=60s')).toBe('pod/web condition met\n');
    expect(await berth.ok('delete', 'pods', '--all', '--now')).toBe('pod "db" deleted\n');
    expect(await berth.ok('get', 'pods', '-o', 'name')).toBe('');
    expect(await containersOf(berth.nodeName)).toEqual([]);
  });
});
