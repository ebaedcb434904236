import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { isInState, parseWaitState } from './wait-state.ts';

const pod: JsonObject = {
  metadata: { name: 'web', generation: 2 },
  status: {
    phase: 'Running',
    podIP: '',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Synced', status: 'True', observedGeneration: 1 },
      { type: 'Paused', status: 'False' },
    ],
  },
};

describe('what --for asks for', () => {
  it.each([
    ['condition=Ready', true],
    ['condition=ready', true],
    ['condition=Ready=true', true],
    ['condition=Ready=False', false],
    ['condition=Paused=False', true],
    ['condition=Missing', false],
    ['condition=Synced', false],
    ['jsonpath={.status.phase}=Running', true],
    ["jsonpath='{.status.phase}'=Running", true],
    ['jsonpath={.status.phase}="Running"', true],
    ['jsonpath=.status.phase=Running', true],
    ['jsonpath={.status.phase}=Pending', false],
    ['jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', true],
    ['jsonpath={.status.phase}', true],
    ['jsonpath={.status.nothing}', false],
    ['create', true],
    ['delete', false],
  ])('reads %s', (text, met) => expect(isInState(parseWaitState(text), pod)).toBe(met));

  it('takes an object that does not exist for deleted and for nothing else', () => {
    const met = (text: string): boolean => isInState(parseWaitState(text), undefined);
    expect(['delete', 'create', 'condition=Ready', 'jsonpath={.a}'].map(met)).toEqual([true, false, false, false]);
  });

  it.each(['ready', 'condition', 'condition=', 'jsonpath={.a}=', 'jsonpath={.a'])('refuses "%s"', (text) =>
    expect(() => parseWaitState(text)).toThrow(),
  );
});
