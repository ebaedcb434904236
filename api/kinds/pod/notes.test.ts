import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { Pod } from '../../generated/types.ts';
import { kindNamed } from '../index.ts';
import { persistentVolumeClaim } from '../persistent-volume-claim/kind.ts';
import { podNotes } from './notes.ts';

const notes = (spec: object, annotations?: object): string[] =>
  podNotes(messageFromJson<Pod>('berth.core.v1.Pod', { metadata: { name: 'a', ...(annotations && { annotations }) }, spec }));
const container = (more: object) => ({ containers: [{ name: 'c', image: 'i', ...more }] });

describe('a pod is warned of', () => {
  it('labels of nodes that have newer names', () => {
    const key = 'beta.kubernetes.io/arch';
    const term = {
      matchExpressions: [
        { key: 'a', operator: 'Exists' },
        { key, operator: 'Exists' },
      ],
    };
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term }],
    };
    const labelSelector = { matchLabels: { a: 'b' } };
    const spread = [
      { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', topologyKey: 'failure-domain.beta.kubernetes.io/zone', labelSelector },
    ];
    const text = 'deprecated since v1.14; use "kubernetes.io/arch" instead';
    const at = 'spec.affinity.nodeAffinity';
    expect(
      notes({ nodeSelector: { [key]: 'x', a: 'b' }, affinity: { nodeAffinity }, topologySpreadConstraints: spread }),
    ).toEqual([
      `spec.nodeSelector[${key}]: ${text}`,
      `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key: ${key} is ${text}`,
      `${at}.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[1].key: ${key} is ${text}`,
      'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    ]);
  });

  it('annotations that have become fields, where the field is not set', () => {
    const annotations = {
      'scheduler.alpha.kubernetes.io/critical-pod': '',
      'seccomp.security.alpha.kubernetes.io/pod': 'x',
      'container.seccomp.security.alpha.kubernetes.io/c': 'x',
      'container.seccomp.security.alpha.kubernetes.io/other': 'x',
    };
    const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
    expect(notes(container({}), annotations)).toEqual([
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
      `metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: ${seccomp}`,
      `metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: ${seccomp}`,
    ]);
    const securityContext = { seccompProfile: { type: 'RuntimeDefault' } };
    expect(notes({ ...container({ securityContext }), securityContext }, annotations)).toHaveLength(1);
  });

  it('variables that hide another, but not those that build on it', () => {
    const env = [
      ...[
        { name: 'A', value: '1' },
        { name: 'A', value: '2' },
        { name: 'B', value: '1' },
        { name: 'B', value: '$(B)2' },
      ],
      ...[
        { name: 'B', value: '$(B)' },
        { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
    ];
    const text = 'which may be dropped when using apply';
    expect(notes(container({ env }))).toEqual([
      `spec.containers[0].env[1]: hides previous definition of "A", ${text}`,
      `spec.containers[0].env[4]: hides previous definition of "B", ${text}`,
      `spec.containers[0].env[5]: hides previous definition of "B", ${text}`,
    ]);
  });

  it('ports that come twice, of several containers too', () => {
    const ports = [
      ...[{ containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }, { containerPort: 80, protocol: 'UDP' }],
      ...[
        { containerPort: 80, hostPort: 81 },
        { containerPort: 80, hostPort: 81, hostIP: '127.0.0.1' },
      ],
    ];
    const at = 'spec.containers[0].ports';
    expect(notes(container({ ports }))).toEqual([
      `${at}[1]: duplicate port definition with ${at}[0]`,
      `${at}[3]: overlapping port definition with ${at}[0]`,
      `${at}[3]: overlapping port definition with ${at}[1]`,
      `${at}[4]: overlapping port definition with ${at}[0]`,
      `${at}[4]: overlapping port definition with ${at}[1]`,
      `${at}[4]: dangerously ambiguous port definition with ${at}[3]`,
    ]);
    const hostPorts = [
      { containerPort: 80, hostPort: 81, hostIP: '127.0.0.1' },
      { containerPort: 80, hostPort: 81, hostIP: '127.0.0.2' },
      { containerPort: 80, hostPort: 82 },
    ];
    expect(notes(container({ ports: hostPorts }))).toEqual([]);
    const many = Array.from({ length: 100 }, () => ({ containerPort: 80 }));
    expect(notes(container({ ports: many })).length).toBeLessThan(1_700);
  });

  it('hosts and secrets that come twice, and terms that choose no pod', () => {
    const hostAliases = [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }];
    const terms = {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a' }],
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'a' } }],
    };
    const topologySpreadConstraints = [{ maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', topologyKey: 'a' }];
    const none = 'a null labelSelector results in matching no pod';
    const imagePullSecrets = [{ name: 's' }, { name: 's' }, { name: '' }];
    const affinity = { podAffinity: terms, podAntiAffinity: terms };
    expect(notes({ hostAliases, imagePullSecrets, affinity, topologySpreadConstraints })).toEqual([
      `spec.topologySpreadConstraints[0].labelSelector: ${none}`,
      ...['podAffinity', 'podAntiAffinity'].flatMap((name) => [
        `spec.affinity.${name}.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: ${none}`,
        `spec.affinity.${name}.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: ${none}`,
      ]),
      'spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
      'spec.imagePullSecrets[1].name: duplicate name "s"',
      'spec.imagePullSecrets[2].name: invalid empty name "", the entry has no effect',
    ]);
  });

  it('amounts of bytes in thousandths that are no whole bytes', () => {
    const resources = {
      requests: { memory: '128m', cpu: '128m', 'ephemeral-storage': '2000m' },
      limits: { 'hugepages-2Mi': '1500m' },
    };
    const text = '"m" is a thousandth of a byte, "Mi" a mebibyte';
    expect(notes(container({ resources }))).toEqual([
      `spec.containers[0].resources.requests[memory] is a fractional byte value: "128m"; ${text}`,
      `spec.containers[0].resources.limits[hugepages-2Mi] is a fractional byte value: "1500m"; ${text}`,
    ]);
  });

  it('a size of an emptyDir and a request of a claim in thousandths of bytes', () => {
    const volumes = [{ name: 'v', emptyDir: { sizeLimit: '64m' } }];
    expect(notes({ volumes })).toEqual([
      expect.stringContaining('spec.volumes[0].emptyDir.sizeLimit is a fractional byte value: "64m"'),
    ]);
    const claim = (storage: string) => ({ spec: { resources: { requests: { storage: { string: storage } } } } });
    expect(persistentVolumeClaim.warnings?.(claim('10m'))).toEqual([
      expect.stringContaining('spec.resources.requests[storage] is a fractional byte value: "10m"'),
    ]);
    for (const whole of ['1Gi', '2000m', '']) expect(persistentVolumeClaim.warnings?.(claim(whole))).toEqual([]);
  });

  it('nothing where there is nothing to say, and of templates by their path', () => {
    expect(notes(container({ env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80 }, { containerPort: 81 }] }))).toEqual(
      [],
    );
    const template = { metadata: { annotations: { 'security.alpha.kubernetes.io/sysctls': '' } }, spec: { containers: [] } };
    expect(kindNamed('Deployment').warnings?.({ spec: { template } })).toEqual([
      'spec.template.metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
    ]);
  });
});
