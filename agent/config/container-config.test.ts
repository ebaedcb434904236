import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { type ContainerInput, computeContainerConfig, computeLimits, computeSandboxConfig } from './container-config.ts';
import { expand } from './expand.ts';

const facts = { podIP: '172.17.0.9', hostIP: '10.0.0.1', allocatable: { cpuMilli: 4000, memoryBytes: 8 << 20 } };
const objects = {
  configMaps: new Map([['cm', { data: { a: 'one', b: 'two' } }]]),
  secrets: new Map([['s', { data: { token: Buffer.from('hidden') } }]]),
};

function config(container: Container, change: Partial<ContainerInput> = {}) {
  const object = pod('web').uid('u').on('n1').labels({ tier: 'front' }).container('app', container).build();
  const own = object.spec!.containers![0]!;
  const base = {
    pod: object,
    container: own,
    sandboxId: 'box',
    objects,
    facts,
    volumes: new Map(),
    subPaths: new Map<number, string>(),
    attempt: 0,
    restartsInRow: 0,
    specHash: 'h',
  };
  return computeContainerConfig({ ...base, ...change });
}

const env = (variables: Container['env'], envFrom?: Container['envFrom']) =>
  Object.fromEntries(config({ env: variables, ...(envFrom && { envFrom }) }).env.map(({ name, value }) => [name, value]));

describe('the address of the API server', () => {
  const apiFacts = { ...facts, apiAddress: 'berth.default.svc:443' };
  const envOf = (container: Container) =>
    Object.fromEntries(config(container, { facts: apiFacts }).env.map(({ name, value }) => [name, value]));

  it('is in the environment, where other variables may use it', () =>
    expect(envOf({ env: [{ name: 'URL', value: 'https://$(BERTH_ADDRESS)' }] })).toEqual({
      BERTH_ADDRESS: 'berth.default.svc:443',
      URL: 'https://berth.default.svc:443',
    }));

  it('is the container’s own where it says one', () =>
    expect(envOf({ env: [{ name: 'BERTH_ADDRESS', value: 'elsewhere:7443' }] })).toEqual({ BERTH_ADDRESS: 'elsewhere:7443' }));

  it('is not set where nothing leads there', () => expect(env([])).toEqual({}));
});

describe('sidecars', () => {
  const mega = (amount: number) => ({ resources: { requests: { memory: { string: `${amount}Mi` } } } });
  const both = pod('web')
    .uid('u')
    .container('app', { ...mega(4), ports: [{ containerPort: 80, hostPort: 8080, protocol: 'TCP' }] })
    .initContainer('proxy', {
      ...mega(1),
      restartPolicy: 'Always',
      ports: [{ containerPort: 81, hostPort: 8081, protocol: 'TCP' }],
    })
    .initContainer('setup', { ...mega(1), ports: [{ containerPort: 82, hostPort: 8082, protocol: 'TCP' }] })
    .build();
  const scoreOf = (container: Container) => config({}, { pod: both, container }).oomScoreAdj;

  it('are killed for memory no sooner than the container that needs them', () => {
    const [proxy, setup] = both.spec?.initContainers ?? [];
    expect(scoreOf(both.spec!.containers![0]!)).toBe(500);
    expect([scoreOf(proxy!), scoreOf(setup!)]).toEqual([500, 875]);
  });

  it('of a pod whose limits only stand for it as a whole are not protected as guaranteed', () => {
    const guaranteed: Pod = { ...both, status: { qosClass: 'Guaranteed' } };
    const [main] = both.spec!.containers!;
    expect(config({}, { pod: guaranteed, container: main! }).oomScoreAdj).toBe(-997);
    const resources = { limits: { cpu: { string: '1' }, memory: { string: '1Gi' } } };
    const whole = { ...guaranteed, spec: { ...guaranteed.spec, resources } };
    expect(config({}, { pod: whole, container: main! }).oomScoreAdj).toBe(500);
  });

  it('have their ports opened on the machine, other init containers do not', () => {
    expect(computeSandboxConfig(both, 'pause', 0).portMappings.map(({ hostPort }) => hostPort)).toEqual([8081, 8080]);
  });
});

describe('expand', () => {
  it.each([
    ['$(A)', '1'],
    ['x$(A)y$(B)', 'x1y2'],
    ['$$(A)', '$(A)'],
    ['$(MISSING)', '$(MISSING)'],
    ['$A', '$A'],
  ])('reads %s as %s', (text, result) => {
    expect(
      expand(
        text,
        new Map([
          ['A', '1'],
          ['B', '2'],
        ]),
      ),
    ).toBe(result);
  });
});

describe('references to references', () => {
  const doubling = Array.from({ length: 40 }, (_, i) => ({ name: `V${i + 1}`, value: `$(V${i})$(V${i})` }));

  it('may double until no program could be started with what comes out', () => {
    const first = { name: 'V0', value: 'x'.repeat(1024) };
    expect(env([first, ...doubling.slice(0, 10)]).V10).toHaveLength(1024 * 1024);
    expect(() => env([first, ...doubling])).toThrow('more than 6 MiB');
  });

  it('count together, also where each alone is small', () => {
    const big = { name: 'A', value: 'x'.repeat(100_000) };
    expect(config({ command: Array(50).fill('$(A)'), env: [big] }).command).toHaveLength(50);
    expect(() => config({ command: Array(70).fill('$(A)'), env: [big] })).toThrow('more than 6 MiB');
    expect(() => config({ command: ['$(A)'.repeat(70)], env: [big] })).toThrow('more than 6 MiB');
  });
});

describe('computeContainerConfig', () => {
  it('takes variables from values, ConfigMaps, Secrets and the pod itself, the later over the earlier', () => {
    const found = env(
      [
        { name: 'a', value: 'own' },
        { name: 'TWICE', value: '$(a)-$(b)' },
        { name: 'TOKEN', valueFrom: { secretKeyRef: { localObjectReference: { name: 's' }, key: 'token' } } },
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'TIER', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } },
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      ],
      [{ prefix: '', configMapRef: { localObjectReference: { name: 'cm' } } }],
    );
    const expected = {
      a: 'own',
      b: 'two',
      TWICE: 'own-two',
      TOKEN: 'hidden',
      NAME: 'web',
      TIER: 'front',
      IP: '172.17.0.9',
      NODE: 'n1',
      CPU: '4',
    };
    expect(found).toEqual(expected);
  });

  it('takes variables of Services, which all others replace and refer to', () => {
    const serviceLinks = new Map([
      ['DB_SERVICE_HOST', '10.43.0.9'],
      ['DB_SERVICE_PORT', '5432'],
      ['a', 'of a Service'],
      ['LAST', 'of a Service'],
    ]);
    const optional = { configMapKeyRef: { localObjectReference: { name: 'nope' }, key: 'a', optional: true } };
    const own = {
      env: [
        { name: 'URL', value: 'pg://$(DB_SERVICE_HOST):$(DB_SERVICE_PORT)/$(a)' },
        { name: 'DB_SERVICE_PORT', value: '1' },
        { name: 'LAST', valueFrom: optional },
        { name: 'AFTER', value: '$(DB_SERVICE_PORT)' },
      ],
      envFrom: [{ prefix: '', configMapRef: { localObjectReference: { name: 'cm' } } }],
      args: ['$(DB_SERVICE_HOST)', '$(DB_SERVICE_PORT)', '$(NONE)'],
    };
    const { env: made, args } = config(own, { facts: { ...facts, serviceLinks } });
    expect(Object.fromEntries(made.map(({ name, value }) => [name, value]))).toEqual({
      ...{ DB_SERVICE_HOST: '10.43.0.9', DB_SERVICE_PORT: '1', a: 'one', b: 'two', LAST: 'of a Service' },
      ...{ URL: 'pg://10.43.0.9:5432/one', AFTER: '1' },
    });
    expect(args).toEqual(['10.43.0.9', '1', '$(NONE)']);
  });

  it('says which ConfigMap or key is missing, unless it is optional', () => {
    const reference = (name: string, key: string, optional = false) => [
      { name: 'X', valueFrom: { configMapKeyRef: { localObjectReference: { name }, key, optional } } },
    ];
    expect(() => env(reference('nope', 'a'))).toThrow('configmap "nope" not found');
    expect(() => env(reference('cm', 'z'))).toThrow("couldn't find key z in ConfigMap default/cm");
    expect(env(reference('nope', 'a', true))).toEqual({});
  });

  it('takes only what an object has itself, whatever every object of the language has', () => {
    for (const [of, name] of [
      ['configMapKeyRef', 'cm'],
      ['secretKeyRef', 's'],
    ]) {
      const reference = { [of!]: { localObjectReference: { name }, key: 'constructor' } };
      expect(() => env([{ name: 'X', valueFrom: reference }])).toThrow("couldn't find key constructor");
    }
    expect(env([{ name: 'X', valueFrom: { fieldRef: { fieldPath: "metadata.labels['constructor']" } } }])).toEqual({ X: '' });
  });

  it('expands command and arguments', () => {
    const made = config({ command: ['sh', '$(A)'], args: ['$(A)'], env: [{ name: 'A', value: '1' }] });
    expect([made.command, made.args]).toEqual([['sh', '1'], ['1']]);
  });
});

describe('computeLimits', () => {
  it('turns requests into shares and limits into a quota', () => {
    const resources = { requests: { cpu: { string: '500m' } }, limits: { cpu: { string: '2' }, memory: { string: '64Mi' } } };
    expect(computeLimits({ resources })).toEqual({ cpuShares: 512, cpuQuota: 200_000, memoryBytes: 64 << 20 });
  });
  it('gives the kernel and the engine no number that they do not read', () => {
    const much = { cpu: { string: '9223372036854775807' }, memory: { string: '9223372036854775807' } };
    expect(computeLimits({ resources: { limits: much } })).toEqual({
      cpuShares: 262_144,
      cpuQuota: 2 ** 43,
      memoryBytes: Number.MAX_SAFE_INTEGER,
    });
  });
  it('gives the least share and no quota to a container that asks for nothing', () => {
    expect(computeLimits({})).toEqual({ cpuShares: 2, cpuQuota: 0, memoryBytes: 0 });
  });
});

describe('computeSandboxConfig', () => {
  it('opens the host ports of all containers', () => {
    const object = pod('web')
      .container('a', { ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }] })
      .build();
    expect(computeSandboxConfig(object, 'pause', 0)).toMatchObject({
      hostname: 'web',
      portMappings: [{ containerPort: 80, hostPort: 8080, hostIP: '', protocol: 'tcp' }],
    });
  });
});
