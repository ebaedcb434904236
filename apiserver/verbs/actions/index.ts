import type { Action } from './action.ts';
import { bind } from './bind.ts';
import { createToken } from './create-token.ts';
import { evict } from './evict.ts';
import { finalize } from './finalize.ts';

/** Every action, in the order of their names. */
export const actions: readonly Action[] = [bind, createToken, evict, finalize];

/** The actions of a kind, by its id. */
export const actionsOf = (kind: string): readonly Action[] => actions.filter((each) => each.of === kind);
