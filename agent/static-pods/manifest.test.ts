import { describe, expect, it } from 'vitest';
import { readManifest } from './manifest.ts';

const facts = { file: '/etc/pods/web.yaml', nodeName: 'node-1', seenMs: 1_000 };
const container = { name: 'app', image: 'busybox:1.36' };
const manifest = (spec: object = {}, metadata: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [container], ...spec },
  });

function podOf(text: string, more: Partial<typeof facts> = {}) {
  const read = readManifest(text, { ...facts, ...more });
  if (read.pod === undefined) throw new Error(read.problems.join('\n'));
  return read.pod;
}
function problemsOf(text: string) {
  const read = readManifest(text, facts);
  return read.pod === undefined ? read.problems : [];
}
const uidOf = (...args: Parameters<typeof podOf>) => podOf(...args).metadata?.uid;

describe('the static pod of a file', () => {
  it('has the name of its node behind its own, is bound to it, stays whatever its taints are, and says where it is from', () => {
    const pod = podOf(manifest({ nodeName: 'other' }, { annotations: { a: 'b' } }));
    expect(pod.metadata).toEqual({
      name: 'web-node-1',
      namespace: 'default',
      uid: expect.stringMatching(/^[0-9a-f]{32}$/),
      annotations: {
        a: 'b',
        'kubernetes.io/config.hash': pod.metadata?.uid,
        'kubernetes.io/config.seen': '1970-01-01T00:00:01.000000Z',
        'kubernetes.io/config.source': 'file',
      },
    });
    expect(pod.spec).toMatchObject({
      nodeName: 'node-1',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
    });
    expect(pod.status).toEqual({ phase: 'Pending' });
  });

  it('is the same pod however the same content is written, whatever a server or an agent has added', () => {
    const plain = uidOf(manifest());
    const yaml =
      'kind: Pod\n# a word\nspec:\n  containers:\n  - image: busybox:1.36\n    name: app\nmetadata: {name: web}\napiVersion: v1\n';
    expect(uidOf(yaml)).toBe(plain);
    const copied = { uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', generation: 3 };
    expect(uidOf(manifest({}, { ...copied, annotations: { 'kubernetes.io/config.mirror': 'x' } }))).toBe(plain);
  });

  it.each([
    ['other content', manifest({ hostname: 'x' }), {}],
    ['another name', manifest({}, { name: 'web2' }), {}],
    ['another file', manifest(), { file: '/etc/pods/other.yaml' }],
    ['another node', manifest(), { nodeName: 'n2' }],
  ])('is another pod with %s', (_, text, more) => {
    expect(uidOf(text, more)).not.toBe(uidOf(manifest()));
  });
});

describe('a file that describes no static pod', () => {
  it.each([
    ['nothing', '# empty\n', '/etc/pods/web.yaml:1: it holds no pod'],
    [
      'two pods',
      `${manifest()}\n---\n${manifest({}, { name: 'b' })}`,
      '/etc/pods/web.yaml:1: it holds 2 objects: the file of a static pod holds one pod',
    ],
    [
      'another kind',
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n',
      '/etc/pods/web.yaml:1: kind: is Namespace: the file of a static pod holds a Pod',
    ],
    ['half of it', 'apiVersion: v1\nkind: Pod\nmetadata: {name: x', /^\/etc\/pods\/web\.yaml:3: /],
    ['a pod without a name', manifest({}, { name: '' }), /^\/etc\/pods\/web\.yaml:1: metadata\.name: is required/],
    ['a wrong field', manifest({ containrs: [] }), /spec\.containrs: /],
    ['a value that the API refuses', manifest({ restartPolicy: 'Perhaps' }), /spec\.restartPolicy: unsupported value "Perhaps"/],
    [
      'ephemeral containers',
      manifest({ ephemeralContainers: [{ ...container, name: 'e' }] }),
      /spec\.ephemeralContainers: forbidden/,
    ],
  ])('is told where it holds %s', (_, text, problem) => {
    expect(problemsOf(text)).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)]);
  });

  it.each([
    ['spec.serviceAccountName', 'service accounts', { serviceAccountName: 'x' }],
    ['spec.imagePullSecrets[0]', 'secrets', { imagePullSecrets: [{ name: 'x' }] }],
    [
      'spec.containers[0].envFrom[0].configMapRef',
      'config maps',
      { containers: [{ ...container, envFrom: [{ configMapRef: { name: 'x' } }] }] },
    ],
    [
      'spec.containers[0].env[0].valueFrom.secretKeyRef',
      'secrets',
      { containers: [{ ...container, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'x', key: 'k' } } }] }] },
    ],
    [
      'spec.initContainers[0].env[0].valueFrom.configMapKeyRef',
      'config maps',
      {
        initContainers: [
          { ...container, name: 'i', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'x', key: 'k' } } }] },
        ],
      },
    ],
    ['spec.volumes[0].secret', 'secrets', { volumes: [{ name: 'v', secret: { secretName: 'x' } }] }],
    ['spec.volumes[0].configMap', 'config maps', { volumes: [{ name: 'v', configMap: { name: 'x' } }] }],
    [
      'spec.volumes[0].persistentVolumeClaim',
      'persistent volume claims',
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'x' } }] },
    ],
    [
      'spec.volumes[0].projected.sources[0].secret',
      'secrets',
      { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 'x' } }] } }] },
    ],
  ])('may not name in %s what only the API server has: %s', (field, what, spec) => {
    expect(problemsOf(manifest(spec))).toEqual([
      `/etc/pods/web.yaml:1: ${field}: forbidden: static pods may not reference ${what}: they run without the API server`,
    ]);
  });
});
