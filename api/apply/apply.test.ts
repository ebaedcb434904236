import { describe, expect, it } from 'vitest';
import { atomicNames } from '../codec/atomic-fields.ts';
import { messageType } from '../codec/descriptors.ts';
import { typeOfMessage } from '../codec/message-type.ts';
import type { FieldSet } from '../meta/field-set.ts';
import type { JsonObject } from '../meta/merge-patch.ts';
import { computeApply, type OwnedFields } from './apply.ts';
import { fieldsOf } from './fields-of.ts';
import { fieldPaths } from './steps.ts';

// What Kubernetes' documentation of server-side apply describes, rebuilt on the built-in kinds.

/** Managers that apply to one object, one after the other. */
class History {
  readonly #type;
  live: JsonObject = {};
  owned: OwnedFields = new Map();

  constructor(message = 'berth.apps.v1.Deployment') {
    this.#type = typeOfMessage(message);
  }

  /** The conflicts, by manager; undefined when it was applied. */
  apply(manager: string, config: JsonObject, force = false): Record<string, string[]> | undefined {
    const outcome = computeApply({ type: this.#type, live: this.live, config, owned: this.owned, applier: manager, force });
    if (outcome.kind === 'conflicts')
      return Object.fromEntries(outcome.conflicts.map((each) => [each.manager, fieldPaths(each.fields)]));
    this.live = outcome.object;
    this.owned = outcome.owned;
    return undefined;
  }

  /** What another program changed, which does not apply. */
  update(manager: string, live: JsonObject, fields: FieldSet): void {
    this.live = live;
    this.owned = new Map(this.owned).set(manager, fields);
  }

  paths(manager: string): string[] {
    return fieldPaths(this.owned.get(manager) ?? {});
  }
}

const containers = (...list: JsonObject[]): JsonObject => ({ spec: { template: { spec: { containers: list } } } });
const podContainers = (...list: JsonObject[]): JsonObject => ({ spec: { containers: list } });

describe('server-side apply', () => {
  it('writes sets as Kubernetes does', () => {
    const config = {
      metadata: { labels: { app: 'nginx' } },
      spec: {
        selector: { matchLabels: { app: 'nginx' } },
        template: { spec: { containers: [{ name: 'nginx', image: 'nginx:1', ports: [{ containerPort: 80 }], args: ['-v'] }] } },
      },
    };
    expect(fieldsOf(typeOfMessage('berth.apps.v1.Deployment'), config)).toEqual({
      'f:metadata': { 'f:labels': { 'f:app': {} } },
      'f:spec': {
        'f:selector': {},
        'f:template': {
          'f:spec': {
            'f:containers': {
              'k:{"name":"nginx"}': {
                '.': {},
                'f:name': {},
                'f:image': {},
                'f:args': {},
                'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
              },
            },
          },
        },
      },
    });
  });

  it('refuses to change what another manager owns, names the field, and shares it when the values agree', () => {
    const history = new History();
    history.apply('ada', { spec: { replicas: 3 } });
    expect(history.apply('bob', { spec: { replicas: 4 } })).toEqual({ ada: ['.spec.replicas'] });
    expect(history.live).toEqual({ spec: { replicas: 3 } });
    history.apply('bob', { spec: { replicas: 3 } });
    expect([history.paths('ada'), history.paths('bob')]).toEqual([['.spec.replicas'], ['.spec.replicas']]);
    history.apply('bob', { spec: { replicas: 4 } }, true);
    expect(history.live).toEqual({ spec: { replicas: 4 } });
    expect([...history.owned.keys()]).toEqual(['bob']);
  });

  it('hands replicas over to an autoscaler: the user leaves the field out once the autoscaler owns it', () => {
    const history = new History();
    history.apply('user', { spec: { replicas: 3, paused: true } });
    history.update('autoscaler', { spec: { replicas: 5, paused: true } }, { 'f:spec': { 'f:replicas': {} } });
    expect(history.apply('user', { spec: { replicas: 3, paused: true } })).toEqual({ autoscaler: ['.spec.replicas'] });
    history.apply('user', { spec: { paused: true } });
    expect(history.live).toEqual({ spec: { replicas: 5, paused: true } });
    expect(history.paths('autoscaler')).toEqual(['.spec.replicas']);
  });

  it('removes a container that its applier drops, and keeps one that another applies, with the fields of each', () => {
    const history = new History('berth.core.v1.Pod');
    history.apply('ada', podContainers({ name: 'a', image: 'x' }, { name: 'b', image: 'y' }));
    history.apply('bob', podContainers({ name: 'b', tty: true }));
    history.apply('ada', podContainers({ name: 'a', image: 'x' }));
    expect(history.live).toEqual(podContainers({ name: 'a', image: 'x' }, { name: 'b', tty: true }));
    history.apply('bob', {});
    expect(history.live).toEqual(podContainers({ name: 'a', image: 'x' }));
  });

  it('takes the defaults of an item along when the item goes, and leaves those of a field that stays', () => {
    const history = new History();
    history.apply('ada', containers({ name: 'a', image: 'x' }, { name: 'b', image: 'y' }));
    const defaulted = (name: string, image: string) => ({ name, image, terminationMessagePath: '/dev/termination-log' });
    history.update('none', containers(defaulted('a', 'x'), defaulted('b', 'y')), {});
    history.apply('ada', containers({ name: 'a' }));
    expect(history.live).toEqual(containers({ name: 'a', terminationMessagePath: '/dev/termination-log' }));
  });

  it('tells ports apart by number and protocol, which is TCP where it is left out', () => {
    const history = new History('berth.core.v1.Pod');
    const dns = (protocol?: string, name = 'dns') => ({ containerPort: 53, ...(protocol && { protocol }), name });
    history.apply('ada', podContainers({ name: 'a', ports: [dns('TCP'), dns('UDP', 'dns-udp')] }));
    history.apply('bob', podContainers({ name: 'a', ports: [dns(undefined)] }));
    expect(history.live).toEqual(podContainers({ name: 'a', ports: [dns('TCP'), dns('UDP', 'dns-udp')] }));
    expect(history.apply('bob', podContainers({ name: 'a', ports: [dns(undefined, 'other')] }))).toEqual({
      ada: ['.spec.containers[name="a"].ports[containerPort=53,protocol="TCP"].name'],
    });
  });

  it('merges sets by their values', () => {
    const history = new History();
    history.apply('ada', { metadata: { finalizers: ['a', 'b'] } });
    history.apply('bob', { metadata: { finalizers: ['b', 'c'] } });
    expect(history.live).toEqual({ metadata: { finalizers: ['a', 'b', 'c'] } });
    history.apply('ada', { metadata: { finalizers: ['a'] } });
    expect(history.live).toEqual({ metadata: { finalizers: ['a', 'b', 'c'] } });
    history.apply('bob', {});
    expect(history.live).toEqual({ metadata: { finalizers: ['a'] } });
    expect(history.paths('ada')).toEqual(['.metadata.finalizers[="a"]']);
  });

  it.each<[string, JsonObject, JsonObject, string]>([
    [
      'a selector',
      { spec: { selector: { matchLabels: { a: '1' } } } },
      { spec: { selector: { matchLabels: { b: '1' } } } },
      '.spec.selector',
    ],
    [
      'a map that is one value',
      { spec: { template: { spec: { nodeSelector: { a: '1' } } } } },
      { spec: { template: { spec: { nodeSelector: { b: '1' } } } } },
      '.spec.template.spec.nodeSelector',
    ],
    [
      'a list that is one value',
      containers({ name: 'a', args: ['1'] }),
      containers({ name: 'a', args: ['1', '2'] }),
      '.spec.template.spec.containers[name="a"].args',
    ],
    [
      'a reference to a key',
      containers({ name: 'a', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }),
      containers({ name: 'a', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'l' } } }] }),
      '.spec.template.spec.containers[name="a"].env[name="E"].valueFrom.secretKeyRef',
    ],
  ])('owns %s as a whole', (_, first, second, path) => {
    const history = new History();
    history.apply('ada', first);
    expect(history.apply('bob', second)).toEqual({ ada: [path] });
    history.apply('bob', second, true);
    expect(history.live).toEqual(second);
  });

  it('has no conflict about a list that is one value where only the defaults of its items differ', () => {
    const rule = (protocol?: string): JsonObject => ({
      spec: { ingress: [{ ports: [{ port: 80, ...(protocol && { protocol }) }] }] },
    });
    const type = typeOfMessage('berth.networking.v1.NetworkPolicy');
    const input = { type, live: rule('TCP'), applier: 'bob', force: false };
    const owned = new Map([['ada', fieldsOf(type, rule())]]);
    expect(computeApply({ ...input, config: rule(), owned }).kind).toBe('conflicts');
    const outcome = computeApply({ ...input, config: rule(), owned, complete: () => rule('TCP') });
    expect(outcome.kind === 'applied' && [...outcome.owned.keys()]).toEqual(['ada', 'bob']);
  });

  it('puts the items of the applier in its order, and others behind those that they followed', () => {
    const names = (history: History) =>
      (history.live.spec as { containers: { name: string }[] }).containers.map(({ name }) => name);
    const history = new History('berth.core.v1.Pod');
    const apply = (manager: string, ...list: string[]) =>
      history.apply(manager, podContainers(...list.map((name) => ({ name }))));
    apply('ada', 'a', 'b', 'c');
    apply('bob', 'x', 'b');
    expect(names(history)).toEqual(['a', 'x', 'b', 'c']);
    apply('ada', 'c', 'b', 'a');
    expect(names(history)).toEqual(['x', 'c', 'b', 'a']);
  });

  it.each<[string, JsonObject, string]>([
    ['an item twice', containers({ name: 'a' }, { name: 'a' }), 'duplicate entries for key [name="a"]'],
    ['an item without its key', containers({ image: 'x' }), '.spec.template.spec.containers[0].name: is required'],
    ['a value of a set twice', { metadata: { finalizers: ['a', 'a'] } }, 'duplicate entries for key [="a"]'],
  ])('refuses %s, with its path', (_, config, message) => {
    expect(() => new History().apply('ada', config)).toThrow(message);
  });

  it('shows an item that is there twice', () => {
    const refused = expect.objectContaining({ violations: [expect.objectContaining({ value: '"{\\"name\\":\\"a\\"}"' })] });
    expect(() => new History().apply('ada', containers({ name: 'a' }, { name: 'a' }))).toThrow(refused);
  });

  it('knows the messages and fields that it treats as one value', () => {
    for (const name of atomicNames) {
      const [, message = '', field] = /^\.(.*\.[A-Z]\w*)(?:\.([a-z]\w*))?$/.exec(name) ?? [];
      const { fields } = messageType(message);
      if (field !== undefined) expect(Object.keys(fields)).toContain(field);
    }
  });
});
