/** What does the work of kubectl's flags that Berth does not have. */
const instead: Readonly<Record<string, string>> = {
  '--kubeconfig': 'BERTH_CONFIG=FILE in the environment names the configuration',
  '--server': '"berth config set-cluster NAME --server=ADDRESS" names a server, and --context NAME chooses it',
  '--cluster': '--context NAME chooses cluster and user',
  '--user': '--context NAME chooses cluster and user, --as USER impersonates one',
  '--token': '"berth config set-credentials NAME --token=TOKEN" keeps a token, and --context NAME chooses it',
  '--insecure-skip-tls-verify': 'the server is always verified, with the certificate authority of the context',
  '--certificate-authority': '"berth config set-cluster NAME --certificate-authority=FILE" keeps it',
  '--v': 'the command line writes no log; "berth log-level" sets those of server and agents',
  '--as-uid': '--as and --as-group impersonate',
  '--validate': 'the server validates every write strictly: leave the flag out',
  '--record': '"berth annotate TYPE NAME kubernetes.io/change-cause=TEXT" says why, and "berth rollout history" shows it',
  '--save-config': '"berth apply -f FILE" keeps the configuration that it applied',
};

const short: Readonly<Record<string, string>> = { '-s': '--server', '-v': '--v' };

/** What to do instead of a flag, which may have a value behind "=" or, with one letter, behind it. */
export function insteadOf(word: string): string | undefined {
  const name = word.startsWith('--') ? word.split('=')[0]! : (short[word.slice(0, 2)] ?? '');
  return Object.hasOwn(instead, name) ? instead[name] : undefined;
}
