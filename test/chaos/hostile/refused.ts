import type { JsonObject } from '../../../client/index.ts';
import { type HostileCase, once, refused, withVolume } from './cases.ts';

const tooLong = (length: number) => 'a'.repeat(length + 1);
const limits = (resource: string, amount: string): JsonObject => once('true', { resources: { limits: { [resource]: amount } } });
const list = (pods: Readonly<Record<string, readonly [JsonObject, RegExp]>>): HostileCase[] =>
  Object.entries(pods).map(([what, [pod, why]]) => ({ what, pod, expected: refused(why) }));
const items = (path: string) => [{ key: 'k', path }];
const field = { fieldPath: 'metadata.name' };

const outside = /must not contain "\.\."|must be a relative path|must not start with "\.\."/;

/** Every place where a path stands, with every way out of it. */
const paths: HostileCase[] = ['../x', '/etc/passwd', 'a/../../x', '..'].flatMap((path) =>
  list({
    [`subPath ${path}`]: [withVolume({ emptyDir: {} }, { subPath: path }), outside],
    [`subPathExpr ${path}`]: [withVolume({ emptyDir: {} }, { subPathExpr: path }), outside],
    [`an item of a ConfigMap at ${path}`]: [withVolume({ configMap: { name: 'c', items: items(path) } }), outside],
    [`an item of a Secret at ${path}`]: [withVolume({ secret: { secretName: 's', items: items(path) } }), outside],
    [`a field at ${path}`]: [withVolume({ downwardAPI: { items: [{ path, fieldRef: field }] } }), outside],
    [`a projected ConfigMap's item at ${path}`]: [
      withVolume({ projected: { sources: [{ configMap: { name: 'c', items: items(path) } }] } }),
      outside,
    ],
    [`a projected Secret's item at ${path}`]: [
      withVolume({ projected: { sources: [{ secret: { name: 's', items: items(path) } }] } }),
      outside,
    ],
    [`a projected token at ${path}`]: [withVolume({ projected: { sources: [{ serviceAccountToken: { path } }] } }), outside],
    [`a projected field at ${path}`]: [
      withVolume({ projected: { sources: [{ downwardAPI: { items: [{ path, fieldRef: field }] } }] } }),
      outside,
    ],
  }),
);

const morePaths = list({
  'an item in the folder that makes updates atomic': [
    withVolume({ configMap: { name: 'c', items: items('..data/x') } }),
    outside,
  ],
  'a hostPath that goes up': [withVolume({ hostPath: { path: '/srv/../etc' } }), outside],
  'a hostPath that starts nowhere': [withVolume({ hostPath: { path: 'etc' } }), /must be an absolute path/],
  'a seccomp profile out of its folder': [
    once('true', { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: '../../etc/shadow' } } }),
    outside,
  ],
  'a runtime class with a path': [once('true', {}, { runtimeClassName: '../../bin/sh' }), /RuntimeClass .* not found/],
});

/** One more than each limit. */
const names = list({
  'a pod name of 254': [once('true', {}, {}, { name: tooLong(253) }), /metadata\.name.*253/],
  'a pod name with a path': [once('true', {}, {}, { name: '../../etc' }), /metadata\.name.*must consist of/],
  'a namespace of 64': [once('true', {}, {}, { namespace: tooLong(63) }), /namespace.*63|not found/],
  'a container name of 64': [once('true', { name: tooLong(63) }), /name.*63/],
  'a container name with a path': [once('true', { name: '../main' }), /containers\[0\]\.name.*must consist of/],
  'a volume name of 64': [withVolume({ emptyDir: {}, name: tooLong(63) }), /volumes\[0\]\.name.*63/],
  'a volume name with a path': [withVolume({ emptyDir: {}, name: '..' }), /volumes\[0\]\.name.*must consist of/],
  'a port name of 16': [once('true', { ports: [{ containerPort: 80, name: tooLong(15) }] }), /15/],
  'a host name of 64': [once('true', {}, { hostname: tooLong(63) }), /hostname.*63/],
  'a host name of two lines': [once('true', {}, { hostname: 'a\n127.0.0.1 bank' }), /hostname.*must consist of/],
  'a subdomain of 64': [once('true', {}, { subdomain: tooLong(63) }), /subdomain.*63/],
  'a label value of 64': [once('true', {}, {}, { name: 'x', labels: { a: tooLong(63) } }), /labels.*63/],
  'a label key of 64': [once('true', {}, {}, { name: 'x', labels: { [tooLong(63)]: '' } }), /labels.*63/],
  'a label prefix of 254': [once('true', {}, {}, { name: 'x', labels: { [`${tooLong(253)}/a`]: '' } }), /labels.*253/],
  'annotations of more than 256 KiB': [
    once('true', {}, {}, { name: 'x', annotations: { a: 'x'.repeat(256 * 1024) } }),
    /annotations.*(256 KiB|262144)/,
  ],
  'a variable with an equals sign': [once('true', { env: [{ name: 'a=b', value: '' }] }), /env\[0\]\.name/],
  'an alias of two lines': [
    once('true', {}, { hostAliases: [{ ip: '10.0.0.1', hostnames: ['a\n10.0.0.2 bank'] }] }),
    /hostAliases\[0\]\.hostnames/,
  ],
  'a search domain of two lines': [
    once('true', {}, { dnsConfig: { searches: ['a\nnameserver 10.0.0.2'] } }),
    /searches\[0\].*must consist of/,
  ],
  'two containers of one name': [
    once('true', {}, { initContainers: [{ name: 'main', image: 'x' }] }),
    /initContainers\[0\]\.name|duplicate/,
  ],
  'two volumes of one name': [
    once(
      'true',
      {},
      {
        volumes: [
          { name: 'v', emptyDir: {} },
          { name: 'v', emptyDir: {} },
        ],
      },
    ),
    /duplicate/,
  ],
});

const values = list({
  'a negative amount': [limits('memory', '-1'), /must not be negative/],
  'an amount that is none': [limits('memory', '1.5.5'), /expected a quantity/],
  'an amount with an exponent without end': [limits('memory', '1e999999999'), /quantity/],
  'an amount of 900,000 digits': [limits('cpu', '9'.repeat(900_000)), /expected a quantity/],
  'a request above its limit': [
    once('true', { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } }),
    /must be less than or equal/,
  ],
  'a port beyond the last': [once('true', { ports: [{ containerPort: 65_536 }] }), /between 1 and 65535/],
  'a user below the first': [once('true', { securityContext: { runAsUser: -1 } }), /runAsUser/],
  'a user beyond the last': [once('true', { securityContext: { runAsUser: 2 ** 31 } }), /runAsUser/],
  'a group beyond the last': [once('true', {}, { securityContext: { fsGroup: 2 ** 33 } }), /fsGroup/],
  'a number that no 64 bits hold': [once('true', { securityContext: { runAsUser: 1e30 } }), /runAsUser/],
  'a mode beyond the last': [withVolume({ configMap: { name: 'c', defaultMode: 0o1000 } }), /defaultMode/],
  'a grace period beyond the last': [
    once('true', {}, { terminationGracePeriodSeconds: 2 ** 40 }),
    /terminationGracePeriodSeconds/,
  ],
  'a deadline of none': [once('true', {}, { activeDeadlineSeconds: 0 }), /activeDeadlineSeconds/],
  'a variable of 1.5 MiB': [once('true', { env: [{ name: 'a', value: 'x'.repeat(1.5 * 1024 * 1024) }] }), /at most 1572864/],
  'variables of 1.5 MiB in all': [
    once('true', { env: Array.from({ length: 3_000 }, (_, i) => ({ name: `v${i}`, value: 'x'.repeat(512) })) }),
    /at most 1572864/,
  ],
  '1,000 volumes of more than 1.5 MiB in all': [
    once(
      'true',
      {},
      { volumes: Array.from({ length: 1_000 }, (_, i) => ({ name: `v${i}`, hostPath: { path: `/${'a'.repeat(1_600)}` } })) },
    ),
    /at most 1572864/,
  ],
  'a field that there is not': [once('true', { privileged: true }), /privileged.*unknown field/],
  'a field of another type': [once('true', {}, { hostNetwork: 'yes' }), /hostNetwork/],
});

export const refusedCases: readonly HostileCase[] = [...paths, ...morePaths, ...names, ...values];
