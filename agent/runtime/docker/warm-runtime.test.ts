import { expect, it } from 'vitest';
import { plainNamespaces } from '../../../test/builders/runtime-config.ts';
import type { SandboxConfig } from '../runtime.ts';
import { isPlain } from './warm-runtime.ts';

const identity = {
  podUid: 'u',
  podName: 'web',
  podNamespace: 'default',
  containerName: 'POD',
  attempt: 0,
  specHash: '',
  gracePeriodSeconds: 1,
};
const plain: SandboxConfig = {
  identity,
  image: 'pause',
  hostname: 'web',
  hostNetwork: false,
  portMappings: [],
  namespaces: plainNamespaces,
  sysctls: {},
  labels: {},
  namedPorts: [],
};

it.each<[string, Partial<SandboxConfig>, boolean]>([
  ['serves a usual pod', {}, true],
  ['serves no pod with another runtime', { identity: { ...identity, runtimeHandler: 'runsc' } }, false],
  ["serves no pod in the machine's network", { hostNetwork: true }, false],
  ['serves no pod with a kernel parameter', { sysctls: { 'net.core.somaxconn': '9' } }, false],
  ['serves no pod with users of its own', { namespaces: { ...plainNamespaces, users: 'own' } }, false],
  ['serves no pod with processes in common', { namespaces: { ...plainNamespaces, pid: 'pod' } }, false],
  ['serves no pod with a host port', { portMappings: [{ containerPort: 1, hostPort: 1, hostIP: '', protocol: 'tcp' }] }, false],
])('a network made in advance %s', (_title, change, expected) => {
  expect(isPlain({ ...plain, ...change })).toBe(expected);
});
