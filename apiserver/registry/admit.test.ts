import { describe, expect, it } from 'vitest';
import { permissionDenied } from '../../api/errors/index.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { type AdmissionAttributes, DynamicAdmission, type DynamicRules } from '../admission/dynamic.ts';
import { createMemoryStorage } from '../storage/memory/memory-storage.ts';
import { KindCache } from '../watch/kind-cache.ts';
import type { AnyObject } from './any-object.ts';
import { createObject } from './create.ts';
import { deleteObject } from './delete.ts';
import { KindStore } from './kind-store.ts';
import { updateObject } from './update.ts';

const at = { namespace: 'default', name: 'a' };
const nothing = { create: async () => {} };
const call = {
  identity: { user: 'jane', groups: [] },
  warn: () => {},
};
const context = { user: 'jane', manager: 'm', dryRun: false, admitted: call };

interface Behavior {
  readonly mutate?: string;
  /** Metadata that `mutate` sets as well. */
  readonly marks?: object;
  readonly refuse?: string;
  readonly isIdle?: boolean;
}

/** A store with these rules, what they were shown, and the writes of one object. */
function createStore({ mutate, marks, refuse, isIdle = false }: Behavior = {}) {
  const seen: string[] = [];
  const note = (step: string, { operation, object, previous }: AdmissionAttributes): void => {
    seen.push(`${step} ${operation} ${textOf(previous)} -> ${textOf(object)}`);
  };
  const rules: DynamicRules = {
    isIdle,
    async mutate(attributes) {
      note('mutate', attributes);
      if (mutate === undefined || !attributes.object) return undefined;
      const { metadata, ...rest } = structuredClone(attributes.object);
      return { ...rest, metadata: { ...metadata, ...marks }, data: { text: textOf(attributes.object) + mutate } } as AnyObject;
    },
    validate(attributes) {
      note('validate', attributes);
      if (attributes.operation === refuse) throw permissionDenied('refused by a rule');
    },
  };
  const dynamic = new DynamicAdmission();
  dynamic.add(rules);
  const storage = createMemoryStorage();
  const cache = new KindCache(kindNamed('ConfigMap'));
  cache.advance(Number.MAX_SAFE_INTEGER);
  const store = new KindStore(cache, { storage, dynamic, now: () => new Date(0), random: () => 0, uid: () => 'uid' });
  const object = (text: string) => ({ metadata: { ...at }, data: { text } }) as AnyObject;
  return {
    seen,
    create: (text: string, by = context) => createObject(store, nothing, { ...by, take: () => object(text) }),
    update: (text: string) => updateObject(store, object(text), context),
    remove: () => deleteObject(store, at, {}, context),
    createByServer: () => createObject(store, nothing, { ...context, admitted: undefined, take: () => object('x') }),
    async stored() {
      const found = await storage.get('configmaps/default/a');
      return found && textOf(store.decode(found));
    },
    async storedMetadata() {
      const found = await storage.get('configmaps/default/a');
      return found && store.decode(found).metadata;
    },
  };
}

const textOf = (object: object | undefined): string => (object as ConfigMap | undefined)?.data?.text ?? 'none';

describe('dynamic admission of writes', () => {
  it('judges create, update and delete once each, with the version before', async () => {
    const { create, update, remove, seen } = createStore();
    await create('one');
    await update('two');
    await remove();
    expect(seen).toEqual([
      'mutate CREATE none -> one',
      'validate CREATE none -> one',
      'mutate UPDATE one -> two',
      'validate UPDATE one -> two',
      'mutate DELETE two -> none',
      'validate DELETE two -> none',
    ]);
  });

  it('stores what a rule made of the object, which the later rules see', async () => {
    const { create, update, seen, stored } = createStore({ mutate: '!' });
    await create('one');
    expect(await stored()).toBe('one!');
    await update('two');
    expect(await stored()).toBe('two!');
    expect(seen.filter((each) => each.startsWith('validate'))).toEqual([
      'validate CREATE none -> one!',
      'validate UPDATE one! -> two!',
    ]);
  });

  it('lets no rule make a new object one that is being deleted', async () => {
    const { create, storedMetadata } = createStore({ mutate: '!', marks: { deletionTimestamp: { seconds: 1n }, selfLink: '/' } });
    await create('one');
    expect(Object.keys((await storedMetadata()) ?? {}).sort()).toEqual(
      ['creationTimestamp', 'managedFields', 'name', 'namespace', 'uid'].sort(),
    );
  });

  it.each([
    ['CREATE', 'one', undefined],
    ['UPDATE', 'two', 'one'],
    ['DELETE', 'two', 'two'],
  ])('stores nothing when a rule refuses a %s', async (refuse, _, left) => {
    const { create, update, remove, stored } = createStore({ refuse });
    const write = async () => {
      await create('one');
      await update('two');
      await remove();
    };
    await expect(write()).rejects.toMatchObject({ code: 'PERMISSION_DENIED', message: 'refused by a rule' });
    expect(await stored()).toBe(left);
  });

  it('shows a dry run to the rules, and stores nothing', async () => {
    const { create, stored, seen } = createStore();
    await create('one', { ...context, dryRun: true });
    expect(seen).toHaveLength(2);
    expect(await stored()).toBeUndefined();
  });

  it('asks no rule about writes of the server itself, and none that is idle', async () => {
    const { createByServer, seen } = createStore();
    await createByServer();
    expect(seen).toEqual([]);
    const idle = createStore({ isIdle: true });
    await idle.create('one');
    expect(idle.seen).toEqual([]);
  });

  it('is never applied to the configuration of the rules themselves', () => {
    const dynamic = new DynamicAdmission();
    dynamic.add({ isIdle: false });
    const kind = kindNamed('ConfigMap');
    expect(dynamic.isIdleFor(kind)).toBe(false);
    expect(dynamic.isIdleFor({ ...kind, apiVersion: 'admissionregistration.k8s.io/v1' })).toBe(true);
  });
});
