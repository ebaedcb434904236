import { describe, expect, it } from 'vitest';
import {
  beginLife,
  computeLife,
  departureOf,
  endingOf,
  isActive,
  isAdmitted,
  isGone,
  isLeaving,
  orphanLife,
  type PodLife,
  type PodLifeEvent,
  refusalOf,
} from './pod-lifecycle.ts';

const refusal = { reason: 'OutOfcpu', message: 'Pod was rejected: no room' };
const ending = { reason: 'DeadlineExceeded', message: 'over' };

const events = {
  admit: { type: 'admit' },
  refuse: { type: 'refuse', why: refusal },
  end: { type: 'end', why: ending },
  'drop-volumes': { type: 'drop-volumes' },
  'delete 10': { type: 'delete', gracePeriodSeconds: 10 },
  'delete 30': { type: 'delete', gracePeriodSeconds: 30 },
  'delete 60': { type: 'delete', gracePeriodSeconds: 60 },
  'vanish 10': { type: 'vanish', gracePeriodSeconds: 10 },
  'vanish 30': { type: 'vanish', gracePeriodSeconds: 30 },
  'vanish 60': { type: 'vanish', gracePeriodSeconds: 60 },
  release: { type: 'release' },
} as const satisfies Record<string, PodLifeEvent>;
type EventName = keyof typeof events;

/** "leaving 30 gone, admitted": the state, how the pod leaves, the decision. */
function words(life: PodLife): string {
  const departure = departureOf(life);
  const leaving = departure && ` ${departure.gracePeriodSeconds ?? '?'}${departure.isGone ? ' gone' : ''}`;
  return `${life.type}${leaving ?? ''}, ${life.decision.type}`;
}

const lifeAfter = (...names: EventName[]) =>
  names.reduce<PodLife>((life, name) => computeLife(life, events[name]), beginLife(false));

/** Demands for a pod that stays: the decision about it is kept. */
const leave = (decision: string) =>
  Object.fromEntries(
    [10, 30, 60].flatMap((seconds) => [
      [`delete ${seconds}`, `leaving ${seconds}, ${decision}`],
      [`vanish ${seconds}`, `leaving ${seconds} gone, ${decision}`],
    ]),
  );

/** What each event makes of each state. An event that is not named changes nothing. */
const table: readonly (readonly [PodLife, Partial<Record<EventName, string>>])[] = [
  [lifeAfter(), { admit: 'wanted, admitted', refuse: 'wanted, refused', 'drop-volumes': 'finished, new', ...leave('new') }],
  [lifeAfter('admit'), { end: 'wanted, ended', 'drop-volumes': 'finished, admitted', ...leave('admitted') }],
  [lifeAfter('refuse'), { 'drop-volumes': 'finished, refused', ...leave('refused') }],
  [lifeAfter('admit', 'end'), { 'drop-volumes': 'finished, ended', ...leave('ended') }],
  [lifeAfter('drop-volumes'), { admit: 'finished, admitted', refuse: 'finished, refused', ...leave('new') }],
  [lifeAfter('admit', 'drop-volumes'), { end: 'finished, ended', ...leave('admitted') }],
  [lifeAfter('refuse', 'drop-volumes'), leave('refused')],
  [lifeAfter('admit', 'end', 'drop-volumes'), leave('ended')],
  [
    lifeAfter('delete 30'),
    {
      admit: 'leaving 30, admitted',
      refuse: 'leaving 30, refused',
      'delete 10': 'leaving 10, new',
      'vanish 10': 'leaving 10 gone, new',
      'vanish 30': 'leaving 30 gone, new',
      'vanish 60': 'leaving 30 gone, new',
      release: 'released 30, new',
    },
  ],
  [
    lifeAfter('admit', 'vanish 30'),
    {
      end: 'leaving 30 gone, ended',
      'delete 10': 'leaving 10 gone, admitted',
      'vanish 10': 'leaving 10 gone, admitted',
      release: 'released 30 gone, admitted',
    },
  ],
  [
    lifeAfter('admit', 'delete 30', 'release'),
    {
      end: 'released 30, ended',
      'delete 10': 'released 10, admitted',
      'vanish 10': 'released 10 gone, admitted',
      'vanish 30': 'released 30 gone, admitted',
      'vanish 60': 'released 30 gone, admitted',
    },
  ],
  [
    orphanLife(),
    {
      admit: 'leaving ? gone, admitted',
      refuse: 'leaving ? gone, refused',
      'delete 10': 'leaving 10 gone, new',
      'delete 30': 'leaving 30 gone, new',
      'delete 60': 'leaving 60 gone, new',
      'vanish 10': 'leaving 10 gone, new',
      'vanish 30': 'leaving 30 gone, new',
      'vanish 60': 'leaving 60 gone, new',
      release: 'released ? gone, new',
    },
  ],
];

describe.each(table.map(([life, changes]) => [words(life), life, changes] as const))('a pod that is %s', (_, life, changes) => {
  it.each(Object.entries(events))('changes by %s as the table says', (name, event) => {
    const expected = changes[name as EventName];
    const next = computeLife(life, event);
    if (expected === undefined) expect(next).toBe(life);
    else expect(words(next)).toBe(expected);
  });

  it('is stale from a hint until its containers are listed, whatever else happens meanwhile', () => {
    const stale = computeLife(life, { type: 'hint' });
    expect(stale).toEqual({ ...life, isStale: true });
    expect(computeLife(stale, { type: 'hint' })).toBe(stale);
    for (const event of Object.values(events))
      expect(computeLife(stale, event)).toEqual({ ...computeLife(life, event), isStale: true });
    expect(computeLife(stale, { type: 'list' })).toEqual(life);
    expect(computeLife(life, { type: 'list' })).toBe(life);
  });
});

describe('the life of a pod tells', () => {
  it.each<[string, PodLife, object]>([
    ['new', lifeAfter(), {}],
    ['admitted', lifeAfter('admit'), { admitted: true, active: true }],
    ['finished', lifeAfter('admit', 'drop-volumes'), { admitted: true, active: true }],
    ['refused', lifeAfter('refuse'), { refused: refusal }],
    ['ended by the agent', lifeAfter('admit', 'end'), { admitted: true, ended: ending }],
    ['deleted', lifeAfter('admit', 'delete 30'), { admitted: true, leaving: true }],
    ['refused and deleted', lifeAfter('refuse', 'delete 30'), { leaving: true, refused: refusal }],
    ['ended and released', lifeAfter('admit', 'end', 'delete 30', 'release'), { admitted: true, leaving: true, ended: ending }],
    ['gone', lifeAfter('admit', 'vanish 30'), { admitted: true, leaving: true, gone: true }],
    ['only known to the engine', orphanLife(), { leaving: true, gone: true }],
  ])('that it is %s', (_, life, told) => {
    expect({
      admitted: isAdmitted(life),
      active: isActive(life),
      leaving: isLeaving(life),
      gone: isGone(life),
      refused: refusalOf(life),
      ended: endingOf(life),
    }).toEqual({ admitted: false, active: false, leaving: false, gone: false, refused: undefined, ended: undefined, ...told });
  });
});
