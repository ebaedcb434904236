import type { PersistentVolumeClaim } from '../api/generated/types.ts';
import { createLru } from '../api/meta/lru.ts';
import { type EventRecorder, referenceTo } from '../client/index.ts';

/** What people are told of a claim, as an event; Kubernetes' reasons. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** With more claims than this, some events are repeated. */
const rememberedSize = 4_096;

/** Tells each claim what it waits for, not the same twice in a row. */
export function createClaimTeller(events: Pick<EventRecorder, 'event'>): (claim: PersistentVolumeClaim, note: Note) => void {
  const told = createLru<string>(rememberedSize);
  return (claim, { type, reason, message }) => {
    const uid = claim.metadata?.uid ?? '';
    if (told.get(uid) === message) return;
    told.set(uid, message);
    events.event(referenceTo('PersistentVolumeClaim', claim), type, reason, message);
  };
}
