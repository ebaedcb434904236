import { expect, it } from 'vitest';
import { commands } from '../../host/main.ts';
import { unknownCommand } from './unknown-command.ts';

const known = commands.map(({ name }) => name);

it.each([
  ['aply', "unknown command 'aply'; did you mean apply?"],
  ['gte', "unknown command 'gte'; did you mean get?"],
  ['stop', 'unknown command \'stop\'; "berth delete pod NAME" ends a pod, "berth down" stops Berth'],
  ['etcd-snapshot', 'unknown command \'etcd-snapshot\'; "berth backup FILE" writes all objects into a file'],
  ['alloc', 'unknown command \'alloc\'; "berth get pods -A" lists what runs'],
  ['restart', 'unknown command \'restart\'; "berth rollout restart deployment/NAME" replaces all pods of a workload'],
  [
    'proxy',
    '"berth proxy" is not there; "kubectl proxy" serves the HTTP API here, with the kubeconfig of "berth kubeconfig --merge"',
  ],
  ['options', '"berth options" is not there; "berth --help" lists the flags of all commands'],
  ['kill', 'unknown command \'kill\'; "berth delete pod NAME --grace-period=1" ends a pod at once'],
  [
    'login',
    'unknown command \'login\'; "berth create secret docker-registry NAME" keeps the password of a registry for pods that name it in imagePullSecrets',
  ],
  ['ps', 'unknown command \'ps\'; "berth get pods -A" lists what runs'],
  ...['delet', 'dwn', 'restor', 'constructor', '_complete'].map((word) => [
    word,
    `unknown command '${word}'; "berth --help" lists the commands`,
  ]),
])('says of "%s": %s', (word, message) => expect(unknownCommand(word, known).message).toBe(message));

it('calls nothing missing that is a command', () => {
  for (const name of known) expect(unknownCommand(name, known).message).not.toContain('is not there');
});

it('says of a word that is a kind how its objects are listed', () => {
  expect(unknownCommand('po', known, 'pods').message).toBe('unknown command \'po\'; "berth get pods" lists them');
});
