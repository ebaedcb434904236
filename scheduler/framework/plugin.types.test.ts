import { describe, expectTypeOf, it } from 'vitest';
import { type AnyPlugin, definePlugin, type Plugin, proceed, type Rejection, unschedulable } from './plugin.ts';

describe('the plugin contract, as types', () => {
  it('hands each method the state that prepare makes', () => {
    const plugin = definePlugin<{ limit: number }>({
      name: 'Typed',
      prepare: () => proceed({ limit: 1 }),
      filter: (state) => {
        expectTypeOf(state).toEqualTypeOf<{ limit: number }>();
        return undefined;
      },
    });
    expectTypeOf(plugin).toExtend<AnyPlugin>();
  });

  it('refuses what does not fit together', () => {
    // @ts-expect-error a plugin with state must prepare it
    definePlugin<{ limit: number }>({ name: 'NoPrepare', filter: () => undefined });
    // @ts-expect-error prepare must make the declared state
    definePlugin<{ limit: number }>({ name: 'WrongState', prepare: () => proceed('text') });
    // @ts-expect-error a plugin has a name
    definePlugin({ filter: () => undefined });
    // @ts-expect-error a filter answers with a rejection or nothing, not with a truth value
    definePlugin({ name: 'Boolean', filter: () => false });
    // @ts-expect-error events have known names
    unschedulable('full', ['node/painted']);
    // @ts-expect-error reserve answers with its undo
    definePlugin({ name: 'NoUndo', reserve: () => undefined });
    // @ts-expect-error permit is asynchronous
    definePlugin({ name: 'SyncPermit', permit: () => undefined });
    const plugin = definePlugin({ name: 'Writer', filter: () => undefined });
    // @ts-expect-error a plugin is not changed
    plugin.name = 'Other';
  });

  it('needs no prepare without state', () => {
    expectTypeOf<{ name: string; filter: () => undefined }>().toExtend<Plugin>();
    expectTypeOf<Rejection['code']>().toEqualTypeOf<'unschedulable' | 'unresolvable'>();
  });
});
