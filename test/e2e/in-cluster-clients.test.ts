import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, image, type PodHouse } from './pods-fixture.ts';

// Programs in pods that find the API by the in-cluster configuration of their library: they set nothing by hand.
const namespace = 'team';
/** This machine's Node.js, Python and libraries, and this repository, at the places where the programs expect them. */
const tree = fileURLToPath(new URL('../..', import.meta.url));
const machine = { '/usr': '/usr', '/lib': '/usr/lib', '/lib64': '/usr/lib64', '/berth': tree };
const clients = {
  '@kubernetes/client-node': {
    name: 'node',
    command: ['/usr/bin/node', '/berth/test/fixtures/clients/in-cluster.mjs'],
    unmounted: "ENOENT: no such file or directory, open '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt'",
  },
  "Debian's python3-kubernetes": {
    name: 'python',
    command: ['/usr/bin/python3', '/berth/test/fixtures/clients/in_cluster.py'],
    unmounted: 'Service token file does not exist.',
  },
};

let house: PodHouse;

function pod(name: string, command: readonly string[], spec: object): object {
  const paths = Object.entries(machine);
  const volumeMounts = paths.map(([mountPath], i) => ({ name: `v${i}`, mountPath, readOnly: true }));
  const volumes = paths.map(([, path], i) => ({ name: `v${i}`, hostPath: { path } }));
  const containers = [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command, volumeMounts }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { restartPolicy: 'Never', containers, volumes, ...spec },
  };
}

beforeAll(async () => {
  house = await createPodHouse('in-cluster');
  const rbac = 'rbac.authorization.k8s.io';
  await house.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader', namespace } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { name: 'pods', namespace },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'pods', namespace },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'pods' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
    },
  );
  await house.apply(
    ...Object.values(clients).flatMap(({ name, command }) => [
      pod(`${name}-reader`, command, { serviceAccountName: 'reader' }),
      pod(`${name}-stranger`, command, {}),
      pod(`${name}-unmounted`, command, { serviceAccountName: 'reader', automountServiceAccountToken: false }),
    ]),
  );
});
afterAll(() => house?.berth.purge());

/** The first so many objects that a pod's program has printed. python3-kubernetes prints a line of prose, too. */
const printed = (name: string, count: number): Promise<unknown[]> =>
  eventually(`${count} lines of pod ${name}`, async () => {
    const lines = (await house.berth.ok('logs', name, '-n', namespace))
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    return lines.length < count ? undefined : lines.map((line) => JSON.parse(line));
  });

describe.each(Object.entries(clients))('%s in a pod, with the in-cluster configuration', (_, { name, unmounted }) => {
  it("lists and watches the pods of its own namespace, which the pod's account may", async () => {
    const reader = `${name}-reader`;
    const own = expect.arrayContaining([reader]);
    expect(await printed(reader, 1)).toEqual([{ namespace, pods: [own, own] }]);
    await house.berth.ok('label', 'pod', reader, `seen=${reader}`, '-n', namespace);
    expect((await printed(reader, 2))[1]).toEqual({ event: ['ADDED', reader] });
  });

  it('is refused what the account of its namespace may not', async () => {
    const user = `system:serviceaccount:${namespace}:default`;
    const message = `pods is forbidden: User "${user}" cannot list resource "pods" in API group "" in the namespace "${namespace}"`;
    expect(await printed(`${name}-stranger`, 1)).toEqual([{ failure: { code: 403, message: expect.stringContaining(message) } }]);
  });

  it('finds nothing of its account with automountServiceAccountToken: false', async () => {
    expect(await printed(`${name}-unmounted`, 1)).toEqual([{ failure: unmounted }]);
  });
});
