package gitea

import (
	"encoding/json"

	"forge/internal/work"
)

func login(answer []byte) (string, error) {
	var u user
	if err := json.Unmarshal(answer, &u); err != nil || u.Login == "" {
		return "", &work.HostTrouble{Kind: work.HostWrong, Do: "ask whose the token is", What: "the answer is not one of Gitea", Fix: "check the tracker's url", Err: err}
	}
	return u.Login, nil
}
