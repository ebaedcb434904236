import { commandWord } from './command-word.ts';

/** What does the work of flags of kubectl, and of docker run, that Berth does not have. */
const instead: Readonly<Record<string, string>> = {
  '--kubeconfig': 'BERTH_CONFIG=FILE in the environment names the configuration',
  '--server': '"berth config set-cluster NAME --server=ADDRESS" names a server, and --context NAME chooses it',
  '--cluster': '--context NAME chooses cluster and user',
  '--user': '--context NAME chooses cluster and user, --as USER impersonates one',
  '--token': '"berth config set-credentials NAME --token=TOKEN" keeps a token, and --context NAME chooses it',
  '--insecure-skip-tls-verify': 'the server is always verified, with the certificate authority of the context',
  '--certificate-authority': '"berth config set-cluster NAME --certificate-authority=FILE" keeps it',
  '--v':
    'the command line writes no log; "berth log-level" sets those of server and agents. A pod\'s volumes stand in its manifest',
  '--as-uid': '--as and --as-group impersonate',
  '--validate': 'the server validates every write strictly: leave the flag out',
  '--force': '"berth replace --force -f FILE" deletes and makes anew what cannot be changed',
  '--force-conflicts': '"berth apply --server-side --force-conflicts -f FILE" takes over the fields of other managers',
  '--wait': '"berth delete" waits unless --no-wait is given; "berth wait" and "berth rollout status" wait for what was applied',
  '--overwrite': 'what is applied always overwrites: leave the flag out',
  '--cascade': '"berth delete --cascade=HOW" says what becomes of what an object owns',
  '--grace-period': '"berth delete --grace-period=SECONDS" says how long pods may take to end',
  '--timeout': '--request-timeout bounds each request, and "berth wait --timeout=DURATION" a wait',
  '--openapi-patch': 'patches are always computed by the schema: leave the flag out',
  '--record': '"berth annotate TYPE NAME kubernetes.io/change-cause=TEXT" says why, and "berth rollout history" shows it',
  '--raw':
    '"kubectl" does it over HTTP, with the kubeconfig of "berth kubeconfig --merge"; "berth get --raw" shows pages of health',
  '--output-watch-events':
    '"kubectl get --watch --output-watch-events" shows types of events, with the kubeconfig of "berth kubeconfig"',
  '--expose': '"berth expose pod NAME --port=PORT" makes a Service for it',
  '--detach': 'pods run in the background: leave the flag out',
  '--name': 'the name stands without a flag: "berth run NAME --image=IMAGE"',
  '--publish':
    '"berth port-forward POD PORT" reaches a port from here, "berth expose" makes a Service; a hostPort stands in the manifest',
  '--volume': 'the volumes of a pod stand in its manifest: "berth explain pod.spec.volumes"',
  '--save-config': '"berth apply -f FILE" keeps the configuration that it applied',
};

const short: Readonly<Record<string, string>> = { '-s': '--server', '-v': '--v', '-d': '--detach', '-p': '--publish' };

/** What to do instead of a flag, which may have a value behind "=" or, with one letter, behind it. */
export function insteadOf(word: string): string | undefined {
  const name = word.startsWith('--') ? word.split('=')[0]! : (short[word.slice(0, 2)] ?? '');
  return Object.hasOwn(instead, name) ? instead[name] : undefined;
}

/** What does the work of kubectl's subcommands that Berth does not have. */
const insteadOfSubcommand: Readonly<Record<string, string>> = {
  'auth reconcile':
    '"berth apply -f FILE" creates and changes roles and bindings; "kubectl auth reconcile" keeps what they grant beyond',
  'set subject': '"berth edit TYPE NAME" changes the subjects of a binding; "kubectl set subject" works here, too',
  'apply view-last-applied':
    '"berth get TYPE NAME -o jsonpath=\'{.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration}\'" shows it',
  'apply edit-last-applied': 'change the file, and "berth apply -f FILE" it; "berth edit TYPE NAME" changes the object alone',
  'apply set-last-applied':
    '"berth apply -f FILE" keeps what it applies; "berth apply --server-side -f FILE" needs no annotation',
};

/** The error for the words of a command line that call such a subcommand. */
export function foreignSubcommand(words: readonly string[]): string | undefined {
  const word = commandWord(words);
  const called = word === undefined ? '' : `${word} ${words[words.indexOf(word) + 1]}`;
  return Object.hasOwn(insteadOfSubcommand, called)
    ? `"berth ${called}" is not there; ${insteadOfSubcommand[called]}`
    : undefined;
}
