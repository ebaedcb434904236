import { describe, expect, it } from 'vitest';
import { readObject } from '../codec/json.ts';
import { kindNamed } from './index.ts';
import type { ApiObject, Kind } from './kind.ts';

// What the kinds that keep pods running have alike: the same sentences for the same mistakes, at the same paths.

type Json = Record<string, unknown>;

const names = ['ReplicationController', 'ReplicaSet', 'Deployment', 'StatefulSet', 'DaemonSet'] as const;
type Name = (typeof names)[number];

const template = (spec: Json = {}, metadata: Json = { labels: { app: 'web' } }): Json => ({
  metadata,
  spec: { containers: [{ name: 'main', image: 'nginx:1' }], ...spec },
});
const selectorOf = (name: Name, labels: Json): Json => (name === 'ReplicationController' ? labels : { matchLabels: labels });

/** An object as a client sends it. */
function sent(name: Name, spec: Json = {}, others: Json = {}): ApiObject {
  const body = { selector: selectorOf(name, { app: 'web' }), template: template(), ...spec };
  const { value, violations } = readObject<ApiObject>(kindNamed(name) as Kind, {
    metadata: { name: 'web', namespace: 'default' },
    spec: body,
    ...others,
  });
  expect(violations).toEqual([]);
  return value;
}

function defaulted(name: Name, spec?: Json, others?: Json): ApiObject {
  const object = sent(name, spec, others);
  kindNamed(name).defaults(object);
  return object;
}

const broken = (name: Name, spec: Json): string[] =>
  (kindNamed(name) as Kind).validate(defaulted(name, spec)).map(({ field, description }) => `${field}: ${description}`);

describe.each(names)('a %s', (name) => {
  const kind = kindNamed(name) as Kind;

  it('is good with a selector and a template of one container', () => {
    expect(broken(name, {})).toEqual([]);
    expect(kind.warnings?.(sent(name))).toEqual([]);
  });

  it.each<[string, Json, string]>([
    ['no template', { template: undefined }, 'spec.template: is required'],
    [
      'a selector that does not choose the pods of the template',
      { selector: selectorOf(name, { app: 'other' }) },
      'spec.template.metadata.labels: invalid value "app=web": `selector` does not match template `labels`',
    ],
    ['a template without containers', { template: template({ containers: [] }) }, 'spec.template.spec.containers: is required'],
    [
      'a container that breaks a rule of pods',
      { template: template({ containers: [{ name: 'Main', image: '' }] }) },
      'spec.template.spec.containers[0].image: is required',
    ],
    [
      'what a pod is refused for',
      { template: template({ hostPID: true, hostUsers: false }) },
      'spec.template.spec.hostPID: forbidden: may not be set when hostUsers is false',
    ],
    [
      'limits of the pod as a whole',
      { template: template({ resources: { limits: { cpu: '1' } } }) },
      'spec.template.spec.resources.limits: forbidden: no node enforces the limits of a pod as a whole',
    ],
    [
      'containers that end',
      { template: template({ restartPolicy: 'OnFailure' }) },
      'spec.template.spec.restartPolicy: unsupported value "OnFailure": must be one of "Always"',
    ],
    [
      'pods with a deadline',
      { template: template({ activeDeadlineSeconds: 5 }) },
      `spec.template.spec.activeDeadlineSeconds: forbidden: activeDeadlineSeconds in ${name === 'Deployment' ? 'ReplicaSet' : name} is not Supported`,
    ],
    [
      'ephemeral containers',
      { template: template({ ephemeralContainers: [{ name: 'debug', image: 'x' }] }) },
      'spec.template.spec.ephemeralContainers[0]: forbidden: ephemeral containers not allowed in pod template',
    ],
    [
      'a label that is none',
      { template: template({}, { labels: { app: 'web', '-': 'x' } }) },
      'spec.template.metadata.labels[-]: invalid value "-"',
    ],
    [
      'an annotation that is none',
      { template: template({}, { labels: { app: 'web' }, annotations: { '/a': 'x' } }) },
      'spec.template.metadata.annotations[/a]: invalid value "/a"',
    ],
    ['a negative minReadySeconds', { minReadySeconds: -1 }, 'spec.minReadySeconds: invalid value -1: must not be negative'],
  ])('is refused with %s', (_title, spec, sentence) => {
    expect(
      broken(name, spec).some((each) => each.startsWith(sentence)),
      broken(name, spec).join('\n'),
    ).toBe(true);
  });

  it('has the defaults of a pod in its template, without those that only a pod gets', () => {
    const limits = { cpu: '1' };
    const ports = [{ containerPort: 80 }];
    const containers = [{ name: 'main', image: 'nginx', resources: { limits }, ports }];
    const object = defaulted(name, { template: template({ containers, hostNetwork: true }) }) as {
      spec?: { template?: unknown };
    };
    expect(object.spec?.template).toEqual({
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'nginx',
            resources: { limits: { cpu: { string: '1' } } },
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            imagePullPolicy: 'Always',
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
          },
        ],
        hostNetwork: true,
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        schedulerName: 'default-scheduler',
        terminationGracePeriodSeconds: 30,
        securityContext: {},
      },
    });
    expect(kind.validate(object as ApiObject)).toEqual([]);
  });

  it('has defaults that a second time changes nothing of', () => {
    const object = defaulted(name);
    const again = structuredClone(object);
    kind.defaults(again);
    expect(again).toEqual(object);
  });

  it('warns of what Berth does not act on, by the path in the template', () => {
    const containers = [{ name: 'main', image: 'x', resources: { requests: { memory: '128m' } } }];
    const spec = { containers, securityContext: { seLinuxChangePolicy: 'MountOption' } };
    const warnings = kind.warnings?.(sent(name, { template: template(spec, { name: 'x', labels: { app: 'web' } }) })) ?? [];
    expect(warnings.map((warning) => warning.split(/ is |: /)[0])).toEqual([
      'spec.template.metadata.name',
      'spec.template.spec.securityContext.seLinuxChangePolicy',
      'spec.template.spec.containers[0].resources.requests[memory]',
    ]);
  });

  it('stands among what a user runs', () => {
    expect(kind.categories).toEqual(['all']);
  });
});

describe.each(['ReplicaSet', 'Deployment', 'StatefulSet', 'DaemonSet'] as const)('the selector of a %s', (name) => {
  const kind = kindNamed(name) as Kind;

  it.each<[string, unknown, string]>([
    ['is absent', undefined, 'spec.selector: is required'],
    ['is empty', {}, `spec.selector: invalid value "": empty selector is invalid for ${name.toLowerCase()}`],
    [
      'has an operator that does not exist',
      { matchExpressions: [{ key: 'app', operator: 'Like', values: ['web'] }] },
      'spec.selector.matchExpressions[0].operator: unsupported value "Like"',
    ],
  ])('is refused when it %s', (_title, selector, sentence) => {
    expect(broken(name, { selector })[0]).toContain(sentence);
  });

  it('may choose by expressions, and never changes', () => {
    const selector = { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'api'] }] };
    expect(broken(name, { selector })).toEqual([]);
    const said = kind
      .validateUpdate(defaulted(name, { selector }), defaulted(name))
      .map(({ field, description }) => [field, description]);
    const isForbidden = name === 'StatefulSet';
    expect(said).toHaveLength(1);
    expect(said[0]?.[0]).toBe(isForbidden ? 'spec.selector.matchExpressions' : 'spec.selector');
    if (!isForbidden) expect(said[0]?.[1]).toBe('invalid value "app in (api,web)": field is immutable');
    expect(kind.validateUpdate(defaulted(name), defaulted(name))).toEqual([]);
  });
});

it('takes the labels of a ReplicationController from its template, where it says nothing', () => {
  const made = defaulted('ReplicationController', { selector: undefined });
  expect(made).toMatchObject({ metadata: { labels: { app: 'web' } }, spec: { replicas: 1, selector: { app: 'web' } } });
  const own = defaulted('ReplicationController', {}, { metadata: { name: 'web', labels: { tier: 'a' } } });
  expect(own.metadata?.labels).toEqual({ tier: 'a' });
  const bare = { selector: undefined, template: template({}, {}) };
  expect(broken('ReplicationController', bare)).toEqual(['spec.selector: is required']);
});

it('keeps a number of replicas of 0, and gives 1 where none is said', () => {
  for (const name of ['ReplicationController', 'ReplicaSet', 'Deployment', 'StatefulSet'] as const) {
    expect(defaulted(name, { replicas: 0 })).toMatchObject({ spec: { replicas: 0 } });
    expect(defaulted(name)).toMatchObject({ spec: { replicas: 1 } });
    expect(broken(name, { replicas: -1 })).toEqual(['spec.replicas: invalid value -1: must not be negative']);
  }
});

describe('a status', () => {
  const refused = (name: Name, status: Json, before: Json = {}): string[] => {
    const [next, previous] = [defaulted(name, {}, { status }), defaulted(name, {}, { status: before })];
    return (kindNamed(name) as Kind).validateStatusUpdate!(next, previous).map(
      ({ field, description }) => `${field}: ${description}`,
    );
  };

  it.each<[string, Name, Json, string[]]>([
    ['more ready pods than pods', 'ReplicaSet', { replicas: 1, readyReplicas: 2 }, ['readyReplicas: 2: replicas']],
    [
      'more available pods than ready ones',
      'Deployment',
      { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
      ['availableReplicas: 2: readyReplicas'],
    ],
    [
      'more labelled pods than pods',
      'ReplicationController',
      { replicas: 1, fullyLabeledReplicas: 2 },
      ['fullyLabeledReplicas: 2: replicas'],
    ],
    ['more updated pods than pods', 'Deployment', { replicas: 1, updatedReplicas: 2 }, ['updatedReplicas: 2: replicas']],
    ['more current pods than pods', 'StatefulSet', { replicas: 1, currentReplicas: 2 }, ['currentReplicas: 2: replicas']],
  ])('may not say that there are %s', (_title, name, status, wanted) => {
    expect(refused(name, status)).toEqual(
      wanted.map((each) => {
        const [field, value, limit] = each.split(': ');
        return `status.${field}: invalid value ${value}: cannot be greater than status.${limit}`;
      }),
    );
  });

  it.each<[Name, readonly string[]]>([
    ['ReplicationController', ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration']],
    [
      'ReplicaSet',
      ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'terminatingReplicas', 'observedGeneration'],
    ],
    [
      'Deployment',
      [
        'replicas',
        'updatedReplicas',
        'readyReplicas',
        'availableReplicas',
        'unavailableReplicas',
        'terminatingReplicas',
        'observedGeneration',
      ],
    ],
    [
      'StatefulSet',
      ['replicas', 'readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas', 'observedGeneration'],
    ],
    [
      'DaemonSet',
      [
        'currentNumberScheduled',
        'numberMisscheduled',
        'desiredNumberScheduled',
        'numberReady',
        'updatedNumberScheduled',
        'numberAvailable',
        'numberUnavailable',
        'observedGeneration',
      ],
    ],
  ])('of a %s has no negative number', (name, counts) => {
    for (const count of counts)
      expect(refused(name, { [count]: -1 }), count).toContain(`status.${count}: invalid value -1: must not be negative`);
    const good = Object.fromEntries(counts.map((count) => [count, 3]));
    expect(refused(name, good)).toEqual([]);
  });

  it.each(['Deployment', 'StatefulSet', 'DaemonSet'] as const)('of a %s never counts fewer collisions', (name) => {
    expect(refused(name, {}, { collisionCount: 1 })).toEqual(['status.collisionCount: invalid value 0: cannot be decremented']);
    expect(refused(name, { collisionCount: 2 }, { collisionCount: 1 })).toEqual([]);
  });
});

describe('a table', () => {
  const now = new Date('2026-01-31T12:00:00Z');
  const shown = (name: Name, spec: Json, status: Json): Record<string, string> => {
    const object = defaulted(name, spec, { status });
    return Object.fromEntries((kindNamed(name) as Kind).columns.map((column) => [column.name, column.cell(object, now)]));
  };
  const wide = { CONTAINERS: 'a,b', IMAGES: 'x,y' };
  const two = template({
    containers: [
      { name: 'a', image: 'x' },
      { name: 'b', image: 'y' },
    ],
    nodeSelector: { disk: 'ssd', arch: 'arm' },
  });
  const counts = { replicas: 3, readyReplicas: 2, updatedReplicas: 1, availableReplicas: 1 };

  it.each<[Name, Json, Json, Json]>([
    [
      'ReplicationController',
      { replicas: 4 },
      { replicas: 3, readyReplicas: 2 },
      { NAME: 'web', DESIRED: '4', CURRENT: '3', READY: '2', AGE: '<unknown>', ...wide, SELECTOR: 'app=web' },
    ],
    [
      'ReplicaSet',
      { replicas: 4 },
      { replicas: 3, readyReplicas: 2 },
      { NAME: 'web', DESIRED: '4', CURRENT: '3', READY: '2', AGE: '<unknown>', ...wide, SELECTOR: 'app=web' },
    ],
    [
      'Deployment',
      { replicas: 4 },
      counts,
      { NAME: 'web', READY: '2/4', 'UP-TO-DATE': '1', AVAILABLE: '1', AGE: '<unknown>', ...wide, SELECTOR: 'app=web' },
    ],
    ['StatefulSet', { replicas: 4 }, counts, { NAME: 'web', READY: '2/4', AGE: '<unknown>', ...wide }],
    [
      'DaemonSet',
      {},
      { desiredNumberScheduled: 5, currentNumberScheduled: 4, numberReady: 3, updatedNumberScheduled: 2, numberAvailable: 1 },
      {
        NAME: 'web',
        DESIRED: '5',
        CURRENT: '4',
        READY: '3',
        'UP-TO-DATE': '2',
        AVAILABLE: '1',
        'NODE SELECTOR': 'arch=arm,disk=ssd',
        AGE: '<unknown>',
        ...wide,
        SELECTOR: 'app=web',
      },
    ],
  ])('shows a %s as kubectl does', (name, spec, status, cells) => {
    const found = shown(name, { template: two, ...spec }, status);
    expect(found).toEqual(cells);
    expect(Object.keys(found)).toEqual(Object.keys(cells));
  });

  it('shows what is behind the age with -o wide only', () => {
    for (const name of names) {
      const { columns } = kindNamed(name) as Kind;
      const age = columns.findIndex((column) => column.name === 'AGE');
      expect(columns.map(({ priority }) => priority)).toEqual(columns.map((_, at) => (at <= age ? 0 : 1)));
    }
  });
});

it.each(['ReplicationController', 'ReplicaSet', 'Deployment', 'StatefulSet'] as const)('scales a %s', (name) => {
  const { scale } = kindNamed(name) as Kind;
  const object = defaulted(name, { replicas: 3 }, { status: { replicas: 2 } });
  expect(scale?.read(object)).toEqual({ replicas: 3, current: 2, selector: 'app=web' });
  scale?.write(object, 0);
  expect(scale?.read(object)).toEqual({ replicas: 0, current: 2, selector: 'app=web' });
  expect((kindNamed('DaemonSet') as Kind).scale).toBeUndefined();
});

it.each(['ReplicationController', 'ReplicaSet'] as const)('selects a %s by its number of pods', (name) => {
  const { selectableFields } = kindNamed(name) as Kind;
  expect(selectableFields['status.replicas']?.(defaulted(name, {}, { status: { replicas: 2 } }))).toBe('2');
  expect(selectableFields['status.replicas']?.(defaulted(name))).toBe('0');
});
