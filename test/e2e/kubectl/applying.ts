import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import type { Kubectl } from './session.ts';

const map = (name: string, data: Record<string, string>, labels: Record<string, string> = {}): string =>
  `${JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data })}\n`;
const documents = (...all: string[]): string => `---\n${all.join('---\n')}`;
const dataOf = (k: Kubectl, name: string): Promise<string> => k.ok(`get configmap ${name} -o`, 'jsonpath={.data}');

/** `apply` in its modes, `diff`, and kustomizations. */
export function applying(into: (namespace: string) => Promise<Kubectl>): void {
  it('apply creates, leaves alone, changes and prunes', async () => {
    const k = await into('apply');
    const file = k.file(
      'maps/one.yaml',
      documents(map('one', { a: '1', b: '2' }, { set: 'x' }), map('two', { c: '3' }, { set: 'x' })),
    );
    expect(await k.ok('apply -f', file)).toBe('configmap/one created\nconfigmap/two created\n');
    expect(await k.ok('apply -f', file)).toBe('configmap/one unchanged\nconfigmap/two unchanged\n');
    await k.ok('patch configmap one --type merge -p', '{"data":{"mine":"3"}}');
    expect(await k.pipe(map('one', { a: '9' }, { set: 'x' }), 'apply -f -')).toBe('configmap/one configured\n');
    expect(JSON.parse(await dataOf(k, 'one'))).toEqual({ a: '9', mine: '3' });
    expect(JSON.parse(await k.ok('apply view-last-applied configmap/one -o json')).data).toEqual({ a: '9' });
    k.file('maps/deeper/three.yaml', map('three', { d: '4' }, { set: 'x' }));
    expect(await k.ok('apply -R -f', dirname(file))).toMatch(/configmap\/three created\n/);
    const kept = map('three', { d: '4' }, { set: 'x' });
    const pruned = await k.pipe(
      kept,
      `apply -f - --prune -l set=x --prune-${k.minor >= 26 ? 'allow' : 'white'}list core/v1/ConfigMap`,
    );
    expect(pruned).toMatch(/^configmap\/three unchanged\nconfigmap\/one pruned\nconfigmap\/two pruned\n$/);
    expect(await k.ok('get configmaps -l set=x -o name')).toBe('configmap/three\n');
    expect(await k.ok('apply -o name -f', k.file('maps/deeper/three.yaml', map('three', { new: '1' })))).toBe(
      'configmap/three\n',
    );
  });

  it('apply and create rehearse at the client and at the server', async () => {
    const k = await into('dry-run');
    const text = map('m', { a: '1' });
    expect(await k.pipe(text, 'apply --dry-run=client -f -')).toBe('configmap/m created (dry run)\n');
    expect(await k.pipe(text, 'apply --dry-run=server -f -')).toBe('configmap/m created (server dry run)\n');
    expect(await k.ok('create configmap m --dry-run=server')).toBe('configmap/m created (server dry run)\n');
    const seen = JSON.parse(await k.ok('create deployment d --image=berth/busybox --dry-run=server -o json'));
    expect(seen.spec.template.spec).toMatchObject({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
    expect(await k.ok('get configmaps,deployments -o name')).toBe('configmap/kube-root-ca.crt\n');
    const bad = await k.run('apply --dry-run=server -f -', [], map('BAD', {}));
    expect(bad).toMatchObject({ code: 1, stderr: expect.stringMatching(/metadata\.name: [Ii]nvalid value:? "BAD"/) });
  });

  it('apply --server-side keeps fields apart by manager', async () => {
    const k = await into('server-side');
    const mine = '--server-side --field-manager=mine -f -';
    const other = '--server-side --field-manager=other -f -';
    expect(await k.pipe(map('m', { a: '1', b: '2' }), `apply ${mine}`)).toBe('configmap/m serverside-applied\n');
    expect(await k.pipe(map('m', { c: '3' }), `apply ${other}`)).toBe('configmap/m serverside-applied\n');
    expect(JSON.parse(await dataOf(k, 'm'))).toEqual({ a: '1', b: '2', c: '3' });
    const conflict = await k.run(`apply ${other}`, [], map('m', { a: '7', c: '3' }));
    expect(conflict).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Apply failed with 1 conflict: conflict with "mine": \.data\.a\n/),
    });
    expect(await k.pipe(map('m', { a: '7', c: '3' }), `apply --force-conflicts ${other}`)).toBe(
      'configmap/m serverside-applied\n',
    );
    expect(await k.pipe(map('m', { b: '2' }), `apply ${mine}`)).toBe('configmap/m serverside-applied\n');
    expect(JSON.parse(await dataOf(k, 'm'))).toEqual({ a: '7', b: '2', c: '3' });
    expect(await k.pipe(map('m', { b: '2' }), `apply --dry-run=server ${mine}`)).toMatch(/^configmap\/m serverside-applied/);
    const managers = '-o=jsonpath={range .metadata.managedFields[*]}{.manager}/{.operation} {end}';
    const shown = k.minor >= 21 ? ' --show-managed-fields' : '';
    expect(await k.ok(`get configmap m${shown}`, managers)).toMatch(/^(mine\/Apply other|other\/Apply mine)\/Apply $/);
  });

  it('diff exits with 0 where nothing would change, 1 where something would, and more when it fails', async () => {
    const k = await into('diff');
    expect(await k.pipe(map('m', { a: '1' }), 'apply -f -')).toBe('configmap/m created\n');
    expect(await k.run('diff -f -', [], map('m', { a: '1' }))).toEqual({ code: 0, stdout: '', stderr: '' });
    const changed = await k.run('diff -f -', [], map('m', { a: '2' }));
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(/\n- {2}a: "1"\n\+ {2}a: "2"\n/);
    const added = await k.run('diff --server-side -f -', [], map('new', { a: '2' }));
    expect(added.code).toBe(1);
    expect(added.stdout).toMatch(/\n\+ {2}name: new\n/);
    expect((await k.run('diff -f -', [], map('BAD', {}))).code).toBeGreaterThan(1);
    expect(JSON.parse(await dataOf(k, 'm'))).toEqual({ a: '1' });
  });

  it('-k applies, shows and deletes a kustomization', async () => {
    const k = await into('kustomize');
    k.file('base/map.yaml', map('m', { a: '1' }));
    const folder = dirname(
      k.file('base/kustomization.yaml', 'resources: [map.yaml]\nnamePrefix: big-\ncommonLabels: {from: base}\n'),
    );
    expect(await k.ok('apply -k', folder)).toBe('configmap/big-m created\n');
    expect(await k.ok('get -k', folder, '-o', 'jsonpath={.metadata.labels.from}')).toBe('base');
    expect(await k.run('diff -k', [folder])).toMatchObject({ code: 0, stdout: '' });
    expect(await k.ok('delete -k', folder)).toBe('configmap "big-m" deleted\n');
  });

  it('a manifest with a mistake is refused with its place', async () => {
    const k = await into('mistakes');
    const unknown = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[],"replica":1}}';
    const refused = await k.run('create -f -', [], unknown);
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/unknown field/) });
    const noKind = await k.run('apply -f -', [], '{"apiVersion":"v1","kind":"Nothing","metadata":{"name":"p"}}');
    expect(noKind.stderr).toContain('no matches for kind "Nothing" in version "v1"');
    const taken = await k.run('create configmap kube-root-ca.crt');
    expect(taken).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/: configmaps "kube-root-ca.crt" already exists\n$/),
    });
    expect((await k.run('create -f -', [], map('Wrong_Name', {}))).stderr).toMatch(
      /^The \w+ "Wrong_Name" is invalid: metadata\.name: [Ii]nvalid value:? "Wrong_Name": /,
    );
  });
}
