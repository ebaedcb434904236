import { expect, it } from 'vitest';
import { eventually } from '../installation.ts';
import { type Kubectl, notFound } from './session.ts';

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'berth/busybox' }] },
    },
  },
};

/** `patch`, `edit`, `replace`, `label`, `annotate` and `set`. */
export function changing(into: (namespace: string) => Promise<Kubectl>): void {
  it('patch takes strategic, merge and JSON patches', async () => {
    const k = await into('patch');
    await k.pipe(JSON.stringify(deployment), 'create -f -');
    const side = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"berth/busybox"}]}}}}';
    expect(await k.ok('patch deployment web -p', side)).toBe('deployment.apps/web patched\n');
    const names = '-o=jsonpath={.spec.template.spec.containers[*].name}';
    expect(await k.ok('get deployment web', names)).toBe('side main');
    // kubectl compares what it read with the answer: a status that a controller writes in between is a change too.
    await eventually('the same patch changes nothing', async () => {
      const said = await k.ok('patch deployment web -p', side);
      return said === 'deployment.apps/web patched (no change)\n' ? true : undefined;
    });
    expect(await k.ok('patch deployment web --type=merge -p', side)).toBe('deployment.apps/web patched\n');
    expect(await k.ok('get deployment web', names)).toBe('side');
    const json = '[{"op":"test","path":"/spec/replicas","value":0},{"op":"add","path":"/metadata/labels/new","value":"x"}]';
    expect(await k.ok('patch deploy/web --type=json -o', 'jsonpath={.metadata.labels.new}', '-p', json)).toBe('x');
    const failing = '[{"op":"test","path":"/spec/replicas","value":1}]';
    // Invalid, as Kubernetes answers; kubectl 1.20 leaves out the server's words for it.
    expect(await k.fails('patch deploy/web --type=json -p', failing)).toContain('The request is invalid');
    expect(await k.ok('patch deploy/web --dry-run=server -p', '{"spec":{"paused":true}}')).toMatch(/web patched/);
    expect(await k.ok('get deploy/web -o', 'jsonpath={.spec.paused}')).toBe('');
    const file = k.file('patch.yaml', 'spec:\n  minReadySeconds: 5\n');
    if (k.minor >= 21) expect(await k.ok('patch deploy/web --patch-file', file)).toMatch(/web patched\n/);
    if (k.minor >= 24) {
      const scale = await k.ok('patch deploy/web --subresource=scale --type=merge -p', '{"spec":{"replicas":0}}');
      expect(scale).toMatch(/^scale\.autoscaling\/web patched/);
      expect(await k.ok('get deploy/web --subresource=scale -o', 'jsonpath={.kind}')).toBe('Scale');
      expect(await k.ok('get deploy/web --subresource=status -o name')).toBe('deployment.apps/web\n');
    }
    expect(await k.fails('patch deploy/web -p', '{"spec":{"replicas":-1}}')).toMatch(
      / "web" is invalid: spec\.replicas: [Ii]nvalid value:? -1: must /,
    );
    expect(await k.fails('patch deploy/nothing -p', '{}')).toMatch(notFound('nothing'));
  });

  it('edit sends what the editor has made of an object', async () => {
    const k = await into('edit');
    await k.ok('create configmap m --from-literal=a=old --from-literal=b=kept');
    const editor = (change: string): NodeJS.ProcessEnv => ({ KUBE_EDITOR: `sed -i -e ${change}` });
    const edited = await k.run('edit configmap m', [], '', editor('s/old/new/'));
    expect(edited).toMatchObject({ code: 0, stdout: 'configmap/m edited\n' });
    expect(await k.ok('get configmap m -o', 'jsonpath={.data.a} {.data.b}')).toBe('new kept');
    const same = await k.run('edit configmap m -o json', [], '', editor('s/nothing/new/'));
    expect(same).toMatchObject({ code: 0, stderr: 'Edit cancelled, no changes made.\n' });
    const made = await k.run('create configmap other --from-literal=a=b -o yaml --dry-run=client');
    const created = await k.run('create --edit -f', [k.file('other.yaml', made.stdout)], '', editor('s/b$/c/'));
    expect(created).toMatchObject({ code: 0, stdout: 'configmap/other created\n' });
    const applied = await k.run('apply edit-last-applied configmap/m', [], '', editor('s/a/b/'));
    expect(applied.code).not.toBe(0);
    const wrong = await k.run('edit configmap m', [], '', editor('s/^kind:.*/kind: Secret/'));
    expect(wrong.code).not.toBe(0);
  });

  it('replace takes the place of an object, also by force', async () => {
    const k = await into('replace');
    await k.ok('create configmap m --from-literal=a=b');
    const stored = JSON.parse(await k.ok('get configmap m -o json'));
    const next = JSON.stringify({ ...stored, data: { c: 'd' } });
    expect(await k.pipe(next, 'replace -f -')).toBe('configmap/m replaced\n');
    expect(await k.ok('get configmap m -o', 'jsonpath={.data}')).toBe('{"c":"d"}');
    const stale = await k.run('replace -f -', [], next);
    expect(stale).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Error from server \(Conflict\): error when replacing "STDIN": .*"m"/),
    });
    const forced = await k.run('replace --force -f', [k.file('m.json', next)]);
    expect(forced).toMatchObject({ code: 0, stdout: 'configmap "m" deleted\nconfigmap/m replaced\n' });
    expect(await k.ok('get configmap m -o', 'jsonpath={.metadata.uid}')).not.toBe(stored.metadata.uid);
    const missing = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'none' } });
    expect((await k.run('replace -f -', [], missing)).stderr).toMatch(notFound('none'));
  });

  it('label and annotate add, change, remove and list', async () => {
    const k = await into('label');
    for (const name of ['a', 'b']) await k.ok(`create configmap ${name}`);
    expect(await k.ok('label configmap a b color=red')).toBe('configmap/a labeled\nconfigmap/b labeled\n');
    expect(await k.fails('label configmap a color=blue')).toContain('already has a value (red), and --overwrite is false');
    expect(await k.ok('label configmap a color=blue --overwrite')).toBe('configmap/a labeled\n');
    expect(await k.ok('label configmap -l color=red size=big')).toBe('configmap/b labeled\n');
    expect((await k.ok('label configmap/b --list')).trim().split('\n').sort()).toEqual(['color=red', 'size=big']);
    expect(await k.ok('label configmap/b size-')).toMatch(/^configmap\/b (un)?labeled\n$/);
    expect(await k.ok('get configmaps -l size -o name')).toBe('');
    expect(await k.fails('label configmap/b', 'color=not valid', '--overwrite')).toContain('a valid label must be');
    expect(await k.ok('annotate configmap --all', 'note=some words')).toMatch(
      /configmap\/a annotated?\nconfigmap\/b annotated?\n/,
    );
    expect(await k.ok('annotate configmap/a note=others --overwrite --resource-version', await version(k, 'a'))).toMatch(
      /^configmap\/a annotated?\n$/,
    );
    expect(await k.fails('annotate configmap/a note=more --overwrite --resource-version=1')).toContain('(Conflict)');
    expect(await k.ok('annotate configmap/a note-')).toMatch(/^configmap\/a annotated?\n$/);
    expect(await k.ok('get configmap a -o', 'jsonpath={.metadata.annotations}')).toBe('');
  });

  it('set changes images, variables, resources, accounts and selectors', async () => {
    const k = await into('set');
    await k.pipe(JSON.stringify(deployment), 'create -f -');
    expect(await k.ok('set image deployment/web main=berth/busybox:other')).toBe('deployment.apps/web image updated\n');
    expect(await k.ok('set env deployment/web A=b C=d')).toBe('deployment.apps/web env updated\n');
    expect(await k.ok('set env deployment/web C-')).toBe('deployment.apps/web env updated\n');
    expect(await k.ok('set env deployment/web --list')).toMatch(/A=b\n$/);
    await k.ok('create configmap settings --from-literal=key=value');
    expect(await k.ok('set env --from=configmap/settings deployment/web')).toBe('deployment.apps/web env updated\n');
    expect(await k.ok('set resources deployment web --limits=cpu=200m,memory=64Mi --requests=cpu=100m')).toBe(
      'deployment.apps/web resource requirements updated\n',
    );
    expect(await k.ok('set serviceaccount deployment web builder')).toBe('deployment.apps/web serviceaccount updated\n');
    const { containers, serviceAccountName } = JSON.parse(await k.ok('get deployment web -o json')).spec.template.spec;
    const [{ env, image, resources }] = containers;
    expect({ env, image, resources, serviceAccountName }).toEqual({
      env: [
        { name: 'A', value: 'b' },
        { name: 'KEY', valueFrom: { configMapKeyRef: { name: 'settings', key: 'key' } } },
      ],
      image: 'berth/busybox:other',
      resources: { limits: { cpu: '200m', memory: '64Mi' }, requests: { cpu: '100m' } },
      serviceAccountName: 'builder',
    });
    await k.ok('create service clusterip web --tcp=80');
    expect(await k.ok('set selector service web tier=front')).toBe('service/web selector updated\n');
    expect(await k.ok('get service web -o', 'jsonpath={.spec.selector}')).toBe('{"tier":"front"}');
    await k.ok('create rolebinding read --clusterrole=view --user=ann');
    expect(await k.ok('set subject rolebinding read --group=team --serviceaccount=set:default')).toBe(
      'rolebinding.rbac.authorization.k8s.io/read subjects updated\n',
    );
    expect(await k.ok('get rolebinding read -o', 'jsonpath={.subjects[*].name}')).toBe('ann team default');
  });
}

const version = (k: Kubectl, name: string): Promise<string> =>
  k.ok(`get configmap ${name} -o`, 'jsonpath={.metadata.resourceVersion}');
