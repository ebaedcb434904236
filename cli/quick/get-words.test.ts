import { expect, it } from 'vitest';
import { kindWords } from '../../api/generated/kind-words.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { resolveKind } from '../args/resource-args.ts';
import { readPlainGet } from './get-words.ts';

const plain = {
  ...{ kind: 'Pod', namespaced: true, name: undefined, namespace: undefined, context: undefined, selector: undefined },
  ...{ allNamespaces: false, wide: false, headers: true, showLabels: false },
};

it.each([
  ['get pods', {}],
  ['get po web', { name: 'web' }],
  ['get pod/web', { name: 'web' }],
  ['get pods -A', { allNamespaces: true }],
  ['get pods --all-namespaces -o wide', { allNamespaces: true, wide: true }],
  ['get pods -owide --no-headers --show-labels', { wide: true, headers: false, showLabels: true }],
  ['get pods -o=wide', { wide: true }],
  ['get pods --output wide', { wide: true }],
  ['-n team get pods', { namespace: 'team' }],
  ['--context far get -nteam pods', { namespace: 'team', context: 'far' }],
  ['get pods --namespace=team --context=far', { namespace: 'team', context: 'far' }],
  ['get pods -l app=web,tier!=db', { selector: 'app=web,tier!=db' }],
  ['get ns', { kind: 'Namespace', namespaced: false }],
])('reads "%s"', (line, expected) => expect(readPlainGet(line.split(' '))).toEqual({ ...plain, ...expected }));

it.each([
  ...['get', 'describe pods', 'get pods a b', 'get pods,nodes', 'get all', 'get toys', 'get Pods', 'get pod/a/b', 'get pod/'],
  ...['get pods -w', 'get pods -o json', 'get pods -o', 'get pods -n', 'get pods -n Team', 'get pods -n=', 'get pods -n -A'],
  ...['get pods -A=false', 'get pods --all-namespaces=true', 'get pods -Ao wide', 'get pods -A -A', 'get pods -n a -n b'],
  ...['-A get pods', '-o wide get pods', 'get pods -- web', 'get -', 'get pods web -l a=b', 'get pods web -A', 'get pods --help'],
  ...[
    'get pods -l a(b)',
    'get pods --as root',
    'get pods --toString=x',
    'get pods WEB',
    'get events',
    'get pods --no-headers=true',
  ],
])('leaves "%s" to the whole program', (line) => expect(readPlainGet(line.split(' '))).toBeUndefined());

it('calls kinds as the whole program does', () => {
  expect(Object.keys(kindWords).length).toBeGreaterThan(40);
  for (const [kind, { namespaced, words }] of Object.entries(kindWords))
    for (const word of words) {
      const meant = resolveKind(word);
      expect([word, kindWord(meant), meant.namespaced]).toEqual([word, kind, namespaced]);
    }
});
