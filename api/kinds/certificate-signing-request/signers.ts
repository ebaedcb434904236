/** Signs certificates with which agents call the API: user system:node:NAME, group system:nodes. */
export const nodeClientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';

/** Signs certificates with which people and programs call the API. A person approves each; none is signed for the system's own names. */
export const clientSigner = 'kubernetes.io/kube-apiserver-client';

/** Those that the API server itself signs for. */
export const ownSigners: readonly string[] = [nodeClientSigner, clientSigner];
