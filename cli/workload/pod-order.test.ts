import { expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { timestamp } from '../../api/meta/time.ts';
import { pod } from '../../test/builders/index.ts';
import { inOrderForLogs, inOrderForSessions } from './pod-order.ts';

const bound = (name: string) => pod(name).on('n1').createdAt(1_000);
const ready = (since: number) => ({ type: 'Ready', status: 'True', lastTransitionTime: timestamp(new Date(since)) });
const restarted = (restartCount: number) => ({ containerStatuses: [{ name: 'main', restartCount }] });

const pods: readonly Pod[] = [
  bound('leaving').phase('Running').condition(ready(1_000)).deleting(9_000).build(),
  pod('unassigned').phase('Pending').build(),
  bound('pending').phase('Pending').build(),
  bound('younger').phase('Running').createdAt(5_000).build(),
  bound('older').phase('Running').createdAt(2_000).build(),
  bound('crashing').phase('Running').status(restarted(7)).build(),
  bound('ended').phase('Succeeded').build(),
  bound('ready-late').phase('Running').condition(ready(8_000)).build(),
  bound('ready').phase('Running').condition(ready(3_000)).build(),
];
const names = (sorted: readonly Pod[]) => sorted.map(({ metadata }) => metadata?.name);

it('takes the log of a pod that is ready, else of the one that restarted most often, else of the oldest that ran', () => {
  expect(names(inOrderForLogs(pods))).toEqual([
    ...['ready', 'ready-late', 'crashing', 'ended', 'older', 'younger', 'pending', 'unassigned', 'leaving'],
  ]);
});

it('joins a pod that runs and is ready, and of others the one that restarted least', () => {
  expect(names(inOrderForSessions(pods))).toEqual([
    ...['ready', 'ready-late', 'older', 'younger', 'crashing', 'pending', 'ended', 'unassigned', 'leaving'],
  ]);
});
