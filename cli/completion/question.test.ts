import { describe, expect, it } from 'vitest';
import { createProgram } from '../../host/main.ts';
import { outputFormats } from '../printers/formats.ts';
import { havingPods } from '../workload/pod-selector.ts';
import { computeQuestion, type Question } from './question.ts';

const program = await createProgram();

/** What may stand at the end of a line; a space at its end begins a new word. */
function ask(line: string): Question {
  const words = line.split(' ').slice(1);
  return computeQuestion(program, words.slice(0, -1), words.at(-1) ?? '');
}

const words = (line: string): string[] => {
  const { wanted } = ask(line);
  return wanted.type === 'words' || wanted.type === 'command' ? wanted.words.map(({ word }) => word) : [wanted.type];
};

describe('what may stand at the end of a line', () => {
  it('is a command that the help shows, also of a command of its own', () => {
    expect(words('berth ')).toEqual(expect.arrayContaining(['get', 'describe', 'explain', 'completion']));
    expect(words('berth ')).not.toContain('__complete');
    expect(words('berth config ')).toEqual(expect.arrayContaining(['get-contexts', 'use-context', 'view']));
  });

  it('is a flag of the command or of all commands', () => {
    expect(words('berth get -')).toEqual(expect.arrayContaining(['--watch', '--namespace', '--help']));
    expect(words('berth top pods --')).toEqual(expect.arrayContaining(['--containers', '--context']));
    expect(words('berth get -')).not.toContain('--containers');
  });

  it.each([
    ['berth get ', { type: 'resource', before: [] }],
    ['berth get pods a ', { type: 'resource', before: ['pods', 'a'] }],
    ['berth get -w pods ', { type: 'resource', before: ['pods'] }],
    ['berth get -n team pods ', { type: 'resource', before: ['pods'] }],
    ['berth -n team get ', { type: 'resource', before: [] }],
    ['berth label pods ', { type: 'resource', before: ['pods'] }],
    ['berth describe po/', { type: 'resource', before: [] }],
    ['berth rollout pause ', { type: 'resource', before: [], kinds: ['Deployment'] }],
    [
      'berth expose ',
      { type: 'resource', before: [], kinds: ['Deployment', 'ReplicaSet', 'ReplicationController', 'Pod', 'Service'] },
    ],
    ['berth set selector svc ', { type: 'resource', before: ['svc'], kinds: ['Service'] }],
    ['berth create job --', { type: 'words', words: expect.arrayContaining([expect.objectContaining({ word: '--from' })]) }],
    ['berth logs ', { type: 'object', kind: 'Pod', before: [], owners: havingPods }],
    ['berth port-forward ', { type: 'object', kind: 'Pod', before: [], owners: havingPods }],
    ['berth logs web ', { type: 'container', pod: 'web' }],
    ['berth logs web -c ', { type: 'container', pod: 'web' }],
    ['berth get pods -n ', { type: 'object', kind: 'Namespace', before: [] }],
    ['berth net check ', { type: 'object', kind: 'Node', before: [] }],
    ['berth net check h1 ', { type: 'object', kind: 'Node', before: ['h1'] }],
    ['berth log-level ', { type: 'component' }],
    ['berth get --context ', { type: 'context' }],
    ['berth config use-context ', { type: 'context' }],
    ['berth top nodes ', { type: 'object', kind: 'Node', before: [] }],
    ['berth top po ', { type: 'object', kind: 'Pod', before: [] }],
    ['berth explain pod.', { type: 'field' }],
    ['berth apply -f ', { type: 'file' }],
    ['berth up --data-dir ', { type: 'file' }],
    ['berth events --for ', { type: 'resource', before: ['TYPE/NAME'] }],
    ['berth exec web -- ', { type: 'nothing' }],
    ['berth version ', { type: 'nothing' }],
    ['berth nothing-such ', { type: 'nothing' }],
  ])('"%s" asks for %o', (line, wanted) => expect(ask(line).wanted).toEqual(wanted));

  it('is one of the values that a flag or an argument may have', () => {
    expect(words('berth top pods --sort-by ')).toEqual(['cpu', 'memory']);
    expect(words('berth log-level server ')).toEqual(['debug', 'info', 'warn', 'error']);
    expect(words('berth completion ')).toEqual(['bash', 'zsh', 'fish']);
    expect(words('berth get pods -o ')).toEqual(Object.keys(outputFormats));
    expect(words('berth wait --output=')).toEqual(Object.keys(outputFormats).filter((format) => format !== 'wide'));
  });

  it('knows a flag and its value in one word', () => {
    expect(ask('berth get pods --namespace=ku')).toMatchObject({
      prefix: '--namespace=',
      current: 'ku',
      wanted: { type: 'object', kind: 'Namespace' },
    });
  });

  it('keeps the flags that say where to look', () => {
    const { flags } = ask('berth get pods --context=far -n team ');
    expect([flags.get('context'), flags.get('namespace')]).toEqual(['far', 'team']);
  });
});
