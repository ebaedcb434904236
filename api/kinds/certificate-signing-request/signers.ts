/** Signs certificates with which agents call the API: user system:node:NAME, group system:nodes. */
export const nodeClientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
