import { describe, expect, it } from 'vitest';
import { createRecord, type PodRecord } from '../pod/pod-record.ts';
import type { ObservedContainer } from '../runtime/runtime.ts';
import { chooseForAttach, chooseForFiles, chooseForLogs, chooseRunning } from './choose-container.ts';

const newest = { wanted: 'app', previous: false, containerID: '' };

function record(
  restartPolicy: string,
  ...containers: { attempt: number; state: 'running' | 'exited' | 'created'; exitCode?: number }[]
): PodRecord {
  const made = createRecord('u1', { metadata: { name: 'web' }, spec: { restartPolicy, containers: [{ name: 'app' }] } });
  for (const { attempt, state, exitCode } of containers) {
    const container = { id: `c${attempt}`, containerName: 'app', attempt, state, exitCode } as ObservedContainer;
    made.containers.set(container.id, container);
  }
  return made;
}

describe('the log to read', () => {
  it('is that of the newest run, with --previous that of the one before', () => {
    const both = record('Always', { attempt: 0, state: 'exited', exitCode: 1 }, { attempt: 1, state: 'running' });
    expect(chooseForLogs(both, newest).id).toBe('c1');
    expect(chooseForLogs(both, { ...newest, previous: true }).id).toBe('c0');
  });

  it('is with --previous that of the newest run while a restart is waited for, and none when there is no restart', () => {
    const failed = { attempt: 0, state: 'exited', exitCode: 1 } as const;
    expect(chooseForLogs(record('Always', failed), { ...newest, previous: true }).id).toBe('c0');
    expect(chooseForLogs(record('OnFailure', failed), { ...newest, previous: true }).id).toBe('c0');
    for (const ended of [record('Never', failed), record('OnFailure', { ...failed, exitCode: 0 })]) {
      expect(() => chooseForLogs(ended, { ...newest, previous: true })).toThrow(
        'previous terminated container "app" in pod "web" not found',
      );
    }
  });

  it('is that of one run when it is named, as long as it is kept', () => {
    const both = record('Always', { attempt: 0, state: 'exited', exitCode: 1 }, { attempt: 1, state: 'running' });
    expect(chooseForLogs(both, { ...newest, containerID: 'c0' }).id).toBe('c0');
    expect(() => chooseForLogs(both, { ...newest, containerID: 'gone' })).toThrow(/is no longer kept/);
  });

  it('is waited for while the container was only created', () => {
    expect(() => chooseForLogs(record('Always', { attempt: 0, state: 'created' }), newest)).toThrow(
      'container "app" in pod "web" is waiting to start: ContainerCreating',
    );
  });
});

describe('the container to join', () => {
  const ended = { attempt: 0, state: 'exited', exitCode: 0 } as const;
  const waiting = (...containers: Parameters<typeof record> extends [string, ...infer Rest] ? Rest : never) => {
    const made = record('Never', ...containers);
    Object.assign(made.pod!.spec!.containers![0]!, { stdin: true, stdinOnce: true });
    return made;
  };

  it('has ended at most when it waited for a session with input', () => {
    expect(chooseForAttach(waiting(ended), undefined, true).id).toBe('c0');
    const refused = 'container "app" in pod "web" is not running';
    expect(() => chooseForAttach(waiting(ended), undefined, false)).toThrow(refused);
    expect(() => chooseForAttach(record('Never', ended), undefined, true)).toThrow(refused);
    expect(() => chooseForAttach(waiting({ attempt: 0, state: 'created' }), undefined, true)).toThrow(refused);
  });

  it('is the one that runs when there is one', () => {
    const again = waiting(ended, { attempt: 1, state: 'running' });
    expect([true, false].map((stdin) => chooseForAttach(again, 'app', stdin).id)).toEqual(['c1', 'c1']);
  });
});

describe('the container to work in', () => {
  it('runs, for commands; for files one that has ended will do', () => {
    const ended = record('Never', { attempt: 0, state: 'exited', exitCode: 0 });
    expect(() => chooseRunning(ended, 'app')).toThrow('container "app" in pod "web" is not running');
    expect(chooseForFiles(ended, 'app').id).toBe('c0');
    expect(() => chooseForFiles(record('Never'), 'app')).toThrow('has not started yet');
  });
});
